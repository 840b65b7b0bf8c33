import type { Policy } from "../../src/contract/policy.ts";

/** What the debate environment is given beside its options, in a program. */
export interface DebateResources {
  /** Who judges where the option `judge` is `model`. It is asked at temperature 0, for 512 tokens at most. */
  readonly judge?: Policy;
  /** What the judge is told of its criteria, instead of the text that comes with the environment. */
  readonly rubric?: string;
}
