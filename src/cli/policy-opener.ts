import type { OpenPolicy } from "../../trainers/open-policy.ts";
import type { EnvironmentDefinition } from "../environment/environment.ts";
import type { OpenNamedPolicy } from "../environment/registry.ts";
import type { Policy } from "../policy/policy.ts";
import type { PolicySpecification } from "../policy/policy-specification.ts";
import { canonicalJson } from "../taskset/canonical-json.ts";
import { openNamedPolicy } from "./named-policy.ts";
import { specifiedSettings } from "./policy-settings.ts";
import type { Rooms } from "./rooms.ts";

/** Opens the policies that configs name, each once whatever it is needed for, and closes them all in the end. */
export interface PolicyOpener extends AsyncDisposable {
  /** One that stands by itself, such as a judge. Rejects as `openNamedPolicy` does. */
  readonly open: OpenNamedPolicy;
  /** One that plays an agent of this environment, whose expert `demonstration` then is. */
  openPlayer(
    specification: PolicySpecification,
    options: { readonly what: string; readonly environment: EnvironmentDefinition },
  ): Promise<Policy>;
}

/** A {@link PolicyOpener}. `device` is what runs models on the embedded engine. */
export function createPolicyOpener(options: {
  readonly rooms: Pick<Rooms, "createBackend">;
  readonly device?: string;
  readonly signal: AbortSignal;
}): PolicyOpener {
  const resources = new AsyncDisposableStack();
  const opened = new Map<string, Promise<OpenPolicy>>();
  const open = async (
    specification: PolicySpecification,
    { what, environment }: { readonly what: string; readonly environment?: EnvironmentDefinition },
  ): Promise<Policy> => {
    const settings = await specifiedSettings(specification, what);
    // Demonstrations are one environment's, and hold nothing open.
    if (settings.model === "demonstration") {
      return (await openNamedPolicy(settings, { ...options, ...(environment === undefined ? {} : { environment }) }))
        .policy;
    }
    const key = canonicalJson(JSON.parse(JSON.stringify(settings)));
    let policy = opened.get(key);
    if (policy === undefined) {
      policy = openNamedPolicy(settings, options);
      opened.set(key, policy);
      resources.use(await policy);
    }
    return (await policy).policy;
  };
  return {
    open: (specification, what) => open(specification, { what }),
    openPlayer: open,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
