import { createDockerJavaScriptSandbox } from "../../sandbox/docker/create-docker-javascript-sandbox.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

/**
 * Returns why this machine has no Docker sandbox for JavaScript. Undefined if it has one. Rejects if it must have one.
 */
export async function missingRequirement(): Promise<string | undefined> {
  try {
    await using sandbox = await createDockerJavaScriptSandbox({ workers: 1 });
    void sandbox;
    return undefined;
  } catch (error) {
    const required = (process.env.LYCEUM_TEST_SANDBOXES ?? "").split(",");
    if (!LyceumError.isInstance(error) || required.includes("docker-javascript")) throw error;
    return `${error.message} ${error.hint}`;
  }
}
