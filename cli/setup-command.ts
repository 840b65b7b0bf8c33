import { visibleLine } from "../src/core/text/visible-text.ts";
import type { CommandContext } from "./command-context.ts";

/** The arguments of `lyceum setup torch`. */
export interface SetupTorchArguments {
  /** See `installSteps`. */
  readonly cuda?: "12" | "13" | "cpu";
  /** The interpreter that makes the virtual environment. */
  readonly python: string;
}

/**
 * Runs `lyceum setup torch`: makes a virtual environment with PyTorch for the backend `torch`, and starts a worker in
 * it. Throws the errors of `installSteps`, `installTorch` and `WorkerProcess.start`.
 */
export async function setupTorchCommand(
  { cuda, python }: SetupTorchArguments,
  { output, signal }: Pick<CommandContext, "output" | "signal">,
): Promise<void> {
  const { hasProgram, installSteps, installTorch, torchEnvironment } = await import(
    "../trainers/backends/torch/torch-environment.ts"
  );
  const { WorkerProcess } = await import("../trainers/backends/torch/worker-process.ts");
  const uv = await hasProgram("uv");
  const steps = (folder: string) => installSteps({ folder, cuda, uv, python });
  const planned = steps(torchEnvironment());
  const size = cuda === "cpu" || process.platform === "darwin" ? "0.5" : "3";
  output.write(`${visibleLine(`Installing PyTorch into ${torchEnvironment()}: about ${size} GB to download.`)}\n`);
  for (const step of planned) output.write(`${visibleLine(`> ${step.join(" ")}`)}\n`);
  const interpreter = await installTorch(steps, { signal });
  await using worker = await WorkerProcess.start(interpreter, {}, signal);
  const { torch, cuda: built, device, cards } = worker.info;
  const card = cards.length === 0 ? "no card" : cards.map(({ name }) => name).join(", ");
  output.write(`${visibleLine(`PyTorch ${torch} (CUDA ${built ?? "none"}), ${card}: runs on ${device}.`)}\n`);
  output.write("Train with it: lyceum train --backend torch ...\n");
}
