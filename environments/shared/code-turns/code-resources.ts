import type { Policy } from "../../../src/contract/policy.ts";
import type { HubOptions } from "../../../src/core/hub/hub.ts";

/** What an environment of code is given beside its options, in a program. */
export interface CodeResources {
  /** How the hub is reached. */
  readonly hub?: HubOptions;
  /** Who edits code in the mode `expert_edits`. Its sampling is at temperature 0.3, 2,048 tokens at most. */
  readonly expert?: Policy;
}
