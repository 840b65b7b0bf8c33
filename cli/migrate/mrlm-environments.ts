import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import { convertKeys } from "./convert-keys.ts";
import { modelPath } from "./model-settings.ts";
import { mrlmEnvironmentKeys, remoteNote } from "./mrlm-environment-keys.ts";
import { algorithmOf } from "./mrlm-run.ts";
import { type OldConfig, oldConfig } from "./old-config.ts";
import type { Converted, RemovedKey } from "./old-key.ts";

/** Converts MRLM's `eval_envs`: the environments that are trained in, without duplicates. */
export function mrlmEnvironments(value: Json, config: OldConfig): Converted {
  const algorithm = algorithmOf(config);
  if (!Array.isArray(value)) return { lost: "it must be a list of environments" };
  const lost: RemovedKey[] = [];
  const made: { options: Record<string, Json>; rewards: readonly Json[] }[] = [];
  for (const [place, entry] of value.entries()) {
    if (!isJsonObject(entry)) {
      lost.push({ key: `eval_envs[${place}]`, value: entry, reason: "an environment must be a mapping" });
      continue;
    }
    const { set, origins, lost: missing, unknown } = convertKeys(mrlmEnvironmentKeys, entry, oldConfig(entry));
    const missed = [...missing, ...unknown];
    const isRemote = set.has("environment.url");
    const options: Record<string, Json> = {};
    for (const [key, option] of set) {
      if (!key.startsWith("environment.")) continue;
      if (!isRemote || key === "environment.url") options[key.slice("environment.".length)] = option;
      else {
        const { from, value: given } = origins.get(key)!;
        const reason = "an option of the server: lyceum serve --set";
        const old = from.filter((name) => !name.startsWith("the default"));
        missed.push(...old.map((name) => ({ key: name, value: given, reason })));
      }
    }
    lost.push(...missed.map((key) => ({ ...key, key: `eval_envs[${place}].${key.key}` })));
    const rewards = (set.get("rewards") ?? []) as readonly Json[];
    const [first = rewards] = made.map((other) => other.rewards);
    if (!isDeepStrictEqual(first, rewards)) {
      const reason = "the rewards of all environments are changed in the same way, here as in the first entry";
      lost.push({ key: `eval_envs[${place}].reward_scale, reward_bias and reward_clip`, value: rewards, reason });
    }
    if (!made.some((other) => isDeepStrictEqual(other.options, options))) made.push({ options, rewards });
  }
  const losing = lost.length === 0 ? {} : { lost };
  const known = made.filter(({ options }) => options.id !== undefined || options.url !== undefined);
  if (algorithm === "dpo")
    return { lost: [{ key: "eval_envs", value, reason: "DPO learns from a file of preferences" }] };
  if (algorithm === "sft") {
    const commands = known.map(({ options: { id, url, ...options } }) => {
      const set = Object.entries(options).map(([key, option]) => ` --set '${key}=${JSON.stringify(option)}'`);
      const model = modelPath(config.get("model.model_name_or_path") ?? "gpt2");
      const episodes = config.number("sft.max_trajectories") ?? 1000;
      return `lyceum collect --env ${String(url ?? id)}${set.join("")} --model ${model} --episodes ${episodes} --output data/trajectories.jsonl`;
    });
    return {
      lost: [
        { key: "eval_envs", value, reason: `SFT learns from a file; collect it first: ${commands.join("; ")}` },
        ...lost,
      ],
    };
  }
  const [only, ...others] = known;
  if (only === undefined) return losing;
  // HumanEval has one split, part of which is held out. The other data sets have two.
  const humaneval = ({ options }: (typeof known)[number]): boolean => options.dataset === "humaneval";
  if (others.length === 0) {
    const splits = humaneval(only) ? ["test[32:]", "test[:32]"] : ["train", "test"];
    const set = Object.fromEntries(Object.entries(only.options).map(([key, option]) => [`environment.${key}`, option]));
    return {
      set: { ...set, ...rewardsOf(only.rewards), "tasks.split": splits[0]!, "evaluation.split": splits[1]! },
      ...losing,
      ...(only.options.url === undefined ? {} : { note: remoteNote }),
      ...(humaneval(only)
        ? { note: "HumanEval instead of three built-in problems; the first 32 tasks are held out" }
        : {}),
    };
  }
  const mixed = known.map(({ options }) =>
    options.dataset === "humaneval" ? { ...options, dataset: "mbpp" } : options,
  );
  return {
    set: { environments: mixed, ...rewardsOf(only.rewards), "tasks.split": "train", "evaluation.split": "test" },
    ...losing,
    note: known.some(({ options }) => options.url !== undefined)
      ? remoteNote
      : "MBPP instead of built-in problems, because it has the same splits as the others",
  };
}

function rewardsOf(rewards: readonly Json[]): Record<string, Json> {
  return rewards.length === 0 ? {} : { rewards };
}
