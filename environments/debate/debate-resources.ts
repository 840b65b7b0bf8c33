import type { Policy } from "../../src/contract/policy.ts";

/** Resources that a program passes to the debate environment in addition to the options. */
export interface DebateResources {
  /** The judge for the option `judge: model`. It is sampled at temperature 0 with at most 512 tokens. */
  readonly judge?: Policy;
  /** The judge's criteria, instead of the default text. */
  readonly rubric?: string;
}
