import type { Policy } from "../../contract/policy.ts";
import type { HubOptions } from "../hub/hub.ts";
import type { ToolRecord } from "../tools/tool.ts";

/**
 * What a program passes to an environment in addition to its options, because a config cannot contain it: the second
 * argument of every environment that needs such things. The program keeps them: the environment closes none of them.
 * `Name` are the names of the policies that the environment asks, such as `judge`.
 *
 * @example
 * import { scriptedPolicy } from "lyceum";
 * import type { EnvironmentResources } from "lyceum/contract";
 * import { debateEnvironment } from "lyceum/environments";
 * const resources: EnvironmentResources<"judge"> = { policies: { judge: scriptedPolicy(["..."]) } };
 * debateEnvironment({ judge: "model" }, resources).spec.id; // => "debate"
 */
export interface EnvironmentResources<Name extends string = string> {
  /**
   * The policies that the environment asks, by name. A config names them in options, and the command line opens them.
   */
  readonly policies?: Readonly<Partial<Record<Name, Policy>>>;
  /** The access to the hub, such as a mirror, a token or a cache folder. Used by environments with a data set. */
  readonly hub?: HubOptions;
  /** Tools in addition to those of the options. Used by environments with tools. */
  readonly tools?: ToolRecord;
}
