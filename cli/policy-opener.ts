import type { AgentId } from "../src/contract/action.ts";
import { invalidConfig, LyceumError } from "../src/contract/errors/index.ts";
import type { Policy } from "../src/contract/policy.ts";
import type { OpenNamedPolicy } from "../src/core/environment/registry.ts";
import { teamPolicy } from "../src/core/policy/team-policy.ts";
import { canonicalJson } from "../src/core/taskset/canonical-json.ts";
import type { OpenPolicy } from "../trainers/models/open-policy.ts";
import { checkTeam, oneModelError } from "../trainers/models/team-agents.ts";
import type { Catalog, EngineOptions, NamedEngine } from "./catalog.ts";
import { engineDefinition } from "./engine-policy.ts";
import { type NamedPolicyOptions, openNamedPolicy } from "./named-policy.ts";
import { findPolicy } from "./policy-kinds.ts";
import { type PolicySettings, specifiedSettings } from "./policy-settings.ts";
import { createSharedEngine, type SharedEngine } from "./shared-engine.ts";

/** Opens the policies of a command. A policy that is used several times is opened once. Disposal closes all of them. */
export interface PolicyOpener extends AsyncDisposable {
  /** The engine for embedded models. */
  readonly engine: SharedEngine;
  /** Opens a single policy, such as a judge. Rejects like `openNamedPolicy`. */
  readonly open: OpenNamedPolicy;
  /**
   * Opens a policy from its settings. With an `environment`, it plays the agents `played` (all by default). Without
   * one, it is a single policy. Rejects like `openNamedPolicy`, and like `checkTeam` for a team that does not fit.
   */
  openSettings(
    settings: PolicySettings,
    options?: Omit<PlayingOptions, "agents"> & { readonly played?: readonly AgentId[] },
  ): Promise<Policy>;
  /**
   * Throws `config.invalid` if the command line has options of the engine, but no model that was opened runs on it. Call it
   * when all models are open.
   */
  checkEngineOptions(args: NamedEngine): void;
}

type PlayingOptions = Pick<NamedPolicyOptions, "environment" | "agents" | "completion">;

/** Creates a {@link PolicyOpener}. `engine` has the options of the embedded engine (device `auto` by default). */
export function createPolicyOpener(options: {
  readonly catalog: Pick<Catalog, "createBackend" | "createTinkerBackend">;
  readonly engine?: EngineOptions;
  readonly signal: AbortSignal;
}): PolicyOpener {
  const { catalog, signal } = options;
  const resources = new AsyncDisposableStack();
  const engine = resources.use(
    createSharedEngine({ catalog, engine: options.engine ?? { type: "onnx", device: "auto" } }),
  );
  const opened = new Map<string, Promise<OpenPolicy>>();
  const openOnce = async (settings: PolicySettings, playing: PlayingOptions): Promise<Policy> => {
    const open = (): Promise<OpenPolicy> => openNamedPolicy(settings, { ...playing, engine, signal });
    const { kind } = await findPolicy(settings);
    if (kind.forEnvironment) return resources.use(await open()).policy;
    // Only the embedded engine opens models by agent.
    const agents = kind === engineDefinition ? playing.agents : undefined;
    const key = canonicalJson(
      JSON.parse(JSON.stringify({ settings, agents, completion: playing.completion ?? false })),
    );
    let policy = opened.get(key);
    if (policy === undefined) {
      policy = open();
      opened.set(key, policy);
      resources.use(await policy);
    }
    return (await policy).policy;
  };
  const openSettings: PolicyOpener["openSettings"] = async (settings, { environment, played, ...more } = {}) => {
    if (settings.limits !== undefined) throw noLimits(settings);
    const all = environment?.spec.agents;
    const agents = all === undefined ? undefined : { all, played: played ?? all };
    const playing = { ...more, environment };
    const { agents: byAgent, model: team } = settings;
    if (byAgent === undefined) return openOnce(settings, agents === undefined ? playing : { ...playing, agents });
    if (agents === undefined) {
      throw oneModelError(team, Object.fromEntries(Object.entries(byAgent).map(([name, { model }]) => [name, model])));
    }
    checkTeam({ team, named: Object.keys(byAgent), agents });
    const policies: Record<AgentId, Policy> = {};
    for (const agent of agents.played) {
      policies[agent] = await openSettings(byAgent[agent]!, { ...playing, played: [agent] });
    }
    return agents.played.length === 1 ? policies[agents.played[0]!]! : teamPolicy(policies);
  };
  return {
    engine,
    open: async (specification, what) => openSettings(await specifiedSettings(specification, what)),
    openSettings,
    checkEngineOptions: ({ backend, device, quantize }) => {
      if (engine.isStarted) return;
      const given = [
        ...(backend === "onnx" ? [] : ["--backend"]),
        ...(device === "auto" ? [] : ["--device"]),
        ...(quantize === undefined ? [] : ["--quantize"]),
      ].join(" and ");
      if (given === "") return;
      throw invalidConfig(
        `${given} ${given.includes(" ") ? "are" : "is"} for local models, and no model of this command is one.`,
        `Remove ${given}, or name the folder or hub id of a model.`,
      );
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function noLimits({ model }: PolicySettings): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The policy of ${model} has limits. Limits apply to whole episodes, so only the model that eval or collect plays with can have them.`,
    hint: "Remove limits from this policy.",
    data: { model },
  });
}
