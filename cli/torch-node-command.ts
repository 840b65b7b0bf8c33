import { LyceumError } from "../src/contract/errors/index.ts";
import type { CommandContext } from "./command-context.ts";

/** The arguments of `lyceum torch-node`. */
export interface TorchNodeArguments {
  /** Which of the machines this is. The machine that trains is 0. */
  readonly node: number;
  readonly nodes: number;
  readonly processes: number;
  readonly rendezvous: string;
  readonly python?: string;
}

/**
 * Runs `lyceum torch-node`: starts the PyTorch processes of one more machine, which follow a run of the first machine
 * until it closes its backend. Throws `config.invalid` for a machine that is not among the others, and `backend.failed` if
 * the processes end otherwise, such as after a failure of one of them or of the first machine.
 */
export async function torchNodeCommand(
  { node, nodes, processes, rendezvous, python }: TorchNodeArguments,
  { output, signal }: Pick<CommandContext, "output" | "signal">,
): Promise<void> {
  if (node >= nodes) {
    throw new LyceumError({
      code: "config.invalid",
      message: `--node ${node} is not one of the other machines of ${nodes}, which are counted from 0.`,
      hint: `Set --node to a number from 1 to ${Math.max(1, nodes - 1)}, and --nodes to at least 2. The machine that trains is 0.`,
    });
  }
  const { findPython } = await import("../trainers/backends/torch/torch-environment.ts");
  const { startNode } = await import("../trainers/backends/torch/launch-worker.ts");
  output.write(`Waiting for the run at ${rendezvous}, as machine ${node} of ${nodes}.\n`);
  const worker = await startNode(python ?? findPython(), { processes, nodes, rendezvous }, node);
  const stop = (): void => worker.kill();
  signal.addEventListener("abort", stop, { once: true });
  await worker.ended;
  const { exitCode: code } = worker.child;
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  if (code !== 0) {
    throw new LyceumError({
      code: "backend.failed",
      message: `The PyTorch processes of this machine ended with code ${code}.`,
      hint: "The run was interrupted, or one of its processes has failed: their output is above. A checkpoint resumes the run.",
    });
  }
}
