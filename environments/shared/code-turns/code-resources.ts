import type { Policy } from "../../../src/contract/policy.ts";
import type { HubOptions } from "../../../src/core/hub/hub.ts";

/** Resources that a program passes to a code environment in addition to the options. */
export interface CodeResources {
  /** The access to the hub. */
  readonly hub?: HubOptions;
  /**
   * The expert that edits code in the mode `expert_edits`. It is sampled at temperature 0.3 with at most 2,048 tokens.
   */
  readonly expert?: Policy;
}
