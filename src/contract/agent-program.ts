import type { Message } from "./message.ts";
import type { ActRequest, Policy } from "./policy.ts";

/**
 * A program that acts by calling a model: an agent of the AI SDK, a shell script. Opened over a model it is a policy: each
 * action runs the program once. Training opens it over the model in training.
 */
export interface AgentProgram {
  readonly specificationVersion: "v1";
  readonly name: string;
  /**
   * Returns the answer of an expert to one model call of the program. Algorithms that learn from demonstrations, such as
   * SFT, run the program with these answers. Without it, the environment's demonstration of the turn answers each call.
   */
  demonstrate?(call: ActRequest): string | Message | Promise<string | Message>;
  /**
   * Returns a policy that runs the program. `model` answers its model calls. Closing the policy ends running programs and
   * leaves the model open.
   */
  open(model: Policy): Promise<Policy>;
}
