import { join } from "node:path";
import { interopEnvironment, providePythonEnvironment, pythonOf } from "./python-environment.ts";

/** Returns an interpreter with PyTorch. Its workers keep compiled files in its environment, so that they start faster. */
export async function torchPython(): Promise<string> {
  const environment = await providePythonEnvironment(interopEnvironment);
  process.env.PYTHONPYCACHEPREFIX = join(environment, "pycache");
  process.env.PYTHONDONTWRITEBYTECODE = "";
  return pythonOf(environment);
}
