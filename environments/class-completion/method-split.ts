import { createRandom, deriveSeed } from "../../src/core/random/random.ts";
import type { ClassMethod } from "./class-methods.ts";

/** How methods are split between agents. */
export type MethodSplit = "round-robin" | "shuffled" | "parameters";

/**
 * Returns the methods of each agent, in the order of the class.
 *
 * - `round-robin`: methods are assigned in turn.
 * - `shuffled`: methods are assigned in turn, in an order that depends on the problem's id.
 * - `parameters`: methods with only `self` go to the first agent, those with one more parameter to the second, and so
 *   on. This is CoMLRL's split for two agents. An agent may have no methods.
 */
export function splitMethods(options: {
  readonly methods: readonly Pick<ClassMethod, "name" | "parameters">[];
  readonly agents: number;
  readonly split: MethodSplit;
  /** The problem's id. */
  readonly id: string;
}): readonly (readonly string[])[] {
  const { methods, agents, split, id } = options;
  const places = methods.map((_, i) => i);
  const order = split === "shuffled" ? createRandom(deriveSeed(0, id)).shuffle(places) : places;
  const owner = methods.map(({ parameters }, i) =>
    split === "parameters" ? Math.min(Math.max(parameters, 1), agents) - 1 : order.indexOf(i) % agents,
  );
  return Array.from({ length: agents }, (_, agent) =>
    methods.flatMap(({ name }, i) => (owner[i] === agent ? [name] : [])),
  );
}
