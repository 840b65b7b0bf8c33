import type { AgentId } from "../contract/action.ts";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import { invalidConfig, LyceumError } from "../contract/errors/index.ts";
import type { Json } from "../contract/json.ts";
import { defaultSampling } from "../contract/sampler.ts";
import { canonicalJson } from "../core/taskset/canonical-json.ts";
import { contentHash } from "../core/taskset/content-hash.ts";
import { withoutSecretValues } from "../core/text/secrets.ts";
import { defaultRule } from "./correctness.ts";
import type { EvaluateOptions } from "./evaluate-options.ts";
import type { EvaluationIdentity, EvaluationManifest, ManifestSpec } from "./log/manifest.ts";
import type { TaskPlan } from "./task-plan.ts";

/** A manifest without the parts that depend on the tasks. */
export type ManifestDraft = Omit<EvaluationManifest, "tasks" | "tasksHash" | "startedAt">;

/**
 * Creates the manifest draft of the options. Throws `config.invalid` if a k is above the number of samples, and if
 * `frozen` has unknown agents or all agents.
 */
export function draftManifest<Task>(options: EvaluateOptions<Task>, split: string): ManifestDraft {
  const { environment, samples = 1, price, judgePrice, software = {} } = options;
  const spec = manifestSpec(environment);
  checkFrozen(environment.spec.agents, options.frozen);
  const correct = options.correct === undefined ? defaultRule(environment.spec) : options.correct;
  return {
    format: "lyceum-evaluation",
    version: 2,
    name: options.name ?? environment.spec.id,
    identity: identityOf(options, split),
    samples,
    spec,
    ...(correct === null ? {} : { correct }),
    k: checkK(options.k ?? [...new Set([1, samples])], samples),
    price,
    judgePrice,
    software,
  };
}

/** Adds the parts that depend on the tasks. */
export function completeManifest(
  draft: ManifestDraft,
  { tasks, hash, startedAt }: TaskPlan & { readonly startedAt: string },
): EvaluationManifest {
  return { ...draft, tasks: tasks.length, tasksHash: hash, startedAt };
}

/** Throws `config.invalid` if the settings of a resumed run differ from the recorded ones. */
export function checkSameRun(folder: string, before: EvaluationManifest, now: ManifestDraft): void {
  const parts = (run: ManifestDraft) => ({ ...run.identity, correct: run.correct ?? null });
  const [old, next] = [parts(before), parts(now)] as Readonly<Record<string, unknown>>[];
  const names = [...new Set([...Object.keys(old!), ...Object.keys(next!)])];
  const changed = names.filter((name) => canonicalJson(old![name] ?? null) !== canonicalJson(next![name] ?? null));
  // The environment hash adds no information if other parts have changed.
  const shown = changed.length > 1 ? changed.filter((name) => name !== "environmentHash") : changed;
  if (changed.length === 0) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `The run in ${folder} has other settings: ${shown.map((name) => `${name} was ${canonicalJson(old![name] ?? null)}, and is ${canonicalJson(next![name] ?? null)}`).join("; ")}.`,
    hint: "Resume it with the same settings (only tasks and samples can increase), or name another folder.",
    data: { folder, changed },
  });
}

function checkFrozen(agents: readonly AgentId[], frozen: readonly AgentId[] = []): void {
  const unknown = frozen.filter((agent) => !agents.includes(agent));
  if (unknown.length === 0 && agents.some((agent) => !frozen.includes(agent))) return;
  throw invalidConfig(
    unknown.length > 0
      ? `There is no agent "${unknown[0]}" to freeze.`
      : "All agents are frozen, so none is evaluated.",
    `Freeze some of these agents, but not all: ${agents.join(", ")}.`,
  );
}

function identityOf<Task>(options: EvaluateOptions<Task>, split: string): EvaluationIdentity {
  const { environment, policies, prompt, modelOptions, sampling = defaultSampling, seed = 0 } = options;
  const judge = options.judge ?? environment.judge?.opened;
  const environmentOptions = options.environmentOptions ?? {};
  const limits = Object.fromEntries(Object.entries(options.limits ?? {}).filter(([, limit]) => Number.isFinite(limit)));
  const identity: EvaluationIdentity = {
    models: options.models ?? policyNames(environment.spec.agents, policies),
    modelOptions,
    judge,
    ...(options.rotated === true ? { rotated: true } : {}),
    ...(options.frozen === undefined || options.frozen.length === 0 ? {} : { frozen: options.frozen }),
    environment: { name: options.environmentName ?? environment.spec.id, options: environmentOptions },
    environmentHash: environmentHash(environment, environmentOptions),
    split,
    prompt,
    sampling,
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    seed,
  };
  // The names of served models and the options can be URLs with secrets.
  return withoutSecretValues(JSON.parse(JSON.stringify(identity))) as unknown as EvaluationIdentity;
}

/** Returns the SHA-256 of an environment's spec and options. */
export function environmentHash({ spec }: Pick<EnvironmentDefinition, "spec">, options: Json): string {
  // JSON converts infinite reward bounds to null.
  return contentHash(withoutSecretValues(JSON.parse(JSON.stringify({ spec, options }))));
}

function policyNames(
  agents: readonly AgentId[],
  policies: EvaluateOptions["policies"],
): Readonly<Record<AgentId, string>> {
  const nameOf = (agent: AgentId): string =>
    typeof policies.act === "function"
      ? (policies.name as string)
      : ((policies as Readonly<Record<AgentId, { readonly name: string }>>)[agent]?.name ?? "none");
  return Object.fromEntries(agents.map((agent) => [agent, nameOf(agent)]));
}

/** Returns the part of an environment's spec that the manifest records. */
export function manifestSpec({ spec }: Pick<EnvironmentDefinition, "spec">): ManifestSpec {
  const { agents, maxTurns, deterministic, rewardRange } = spec;
  return { agents, maxTurns, deterministic, rewardRange: [finite(rewardRange[0]), finite(rewardRange[1])] };
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

function checkK(k: readonly number[], samples: number): readonly number[] {
  const wrong = k.find((count) => !Number.isSafeInteger(count) || count < 1 || count > samples);
  if (wrong === undefined) return [...new Set(k)].sort((one, other) => one - other);
  throw new LyceumError({
    code: "config.invalid",
    message: `pass@${wrong} cannot be estimated from ${samples} samples of each task.`,
    hint: "Take at least k samples of each task: --samples.",
  });
}
