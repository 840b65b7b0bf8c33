import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";

/**
 * The resources of the debate environment. The policy `judge` is the judge for the option `judge: model`. It is sampled
 * at temperature 0 with at most 512 tokens.
 */
export interface DebateResources extends EnvironmentResources<"judge"> {
  /** The judge's criteria, instead of the default text. */
  readonly rubric?: string;
}
