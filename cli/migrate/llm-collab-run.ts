import { datasetOf } from "./llm-collab-dataset.ts";
import type { OldConfig } from "./old-config.ts";
import { trainerSections } from "./trainer-sections.ts";

/** Returns the agents that an LLM_Collab config trains, by their names here. */
export function agentNames(config: OldConfig): readonly string[] {
  const section = trainerSections.find(({ name }) => name === config.section);
  const count =
    config.number("*.num_agents") ??
    config.number("agents.num_agents") ??
    collaborators(config) ??
    section?.agents ??
    1;
  const names = { code: ["aux", "main"], writing: ["first", "second"] }[
    String(datasetOf(config)?.environment.id ?? "code")
  ];
  return Array.from({ length: count }, (_, place) =>
    count === 1 ? "agent" : (names?.[place] ?? `agent-${place + 1}`),
  );
}

/** Returns the number of agents from the `collab` section of early ClassEval configs. */
function collaborators(config: OldConfig): number | undefined {
  return config.text("collab.mode") === "ONE" ? 1 : config.number("collab.num_agents");
}

/** Returns the number of turns of an episode. */
export function turnsOf(config: OldConfig): number {
  return config.number("*.num_turns") ?? 1;
}

/** Returns true if settings for later turns have no effect. */
export function hasOneTurn(config: OldConfig): boolean {
  return turnsOf(config) === 1 && !config.alone;
}

/** Returns true if the algorithm uses critics instead of groups. */
export function hasCritic(config: OldConfig): boolean {
  return ["iac", "maac", "ippo", "ac"].includes(algorithmName(config));
}

/** Returns true if the algorithm uses preferences instead of rewards. */
export function isPreference(config: OldConfig): boolean {
  return config.section.startsWith("madpo");
}

/** Returns the algorithm of the policy, which in MARLHF differs from the section. */
export function algorithmName(config: OldConfig): string {
  return config.section.startsWith("marlhf") ? (config.text("*.rl_algorithm") ?? "magrpo") : config.section;
}

/** The keys of versions in which one joint action continues after each turn. */
const handoffKeys = ["*.handoff", "*.turn_gradient_weights", "*.early_termination_weight"];

/** The keys of later versions, in which every joint action branches. */
const treeKeys = ["*.discount", "*.joint_mode", "*.termination_threshold", "*.rollout_buffer_size", "*.eval_interval"];

/**
 * Returns true if one joint action is handed on after each turn, as in versions before trees. The section `trainer` is
 * newer than these.
 */
export function usesHandoff(config: OldConfig): boolean {
  if (handoffKeys.some((path) => config.has(path))) return true;
  return config.section !== "trainer" && !treeKeys.some((path) => config.has(path));
}

/** Returns true if completions are compared within a group, without critic or preferences. */
export function hasGroups(config: OldConfig): boolean {
  return !hasCritic(config) && !isPreference(config);
}

/** Returns true if one joint action of a group is handed on from turn to turn. */
export function handsOnGroups(config: OldConfig): boolean {
  return turnsOf(config) > 1 && usesHandoff(config) && hasGroups(config);
}

/** Returns the number of completions of one agent per prompt. */
export function groupSize(config: OldConfig): number {
  return config.number("*.num_generations") ?? (hasCritic(config) ? 1 : 4);
}

/** Returns the number of completions of one agent per update. */
export function bufferSize(config: OldConfig): number {
  return config.number("*.rollout_buffer_size") ?? (hasCritic(config) ? 8 : 1);
}

/**
 * Returns the number of tasks per step. The old program counts completions in a buffer, of which a tree of turns has
 * several.
 */
export function tasksPerStep(config: OldConfig): number {
  const buffer = bufferSize(config);
  if (hasCritic(config)) return Math.max(1, buffer);
  const turns = turnsOf(config);
  const joint = config.text("*.joint_mode")?.startsWith("cross") === true ? agentNames(config).length : 1;
  let nodes = 1;
  if (!usesHandoff(config)) for (let turn = 1; turn < turns; turn++) nodes += (groupSize(config) ** joint) ** turn;
  else nodes = turns;
  return Math.max(1, Math.round(buffer / nodes));
}

/** Returns true if `reward_processor` is in effect. It is by default, as in the later scripts. */
export function processesRewards(config: OldConfig): boolean {
  return config.get("reward_processor.enabled") !== false;
}

/** Returns how `rewards` change a reward of the environment: `scale * reward + shift`. */
export function processing(config: OldConfig): { readonly scale: number; readonly shift: number } {
  const enabled = processesRewards(config);
  return {
    scale: enabled ? (config.number("reward_processor.scale_factor") ?? 1) : 1,
    shift: (enabled ? (config.number("reward_processor.shift") ?? 0) : 0) + (config.number("*.reward_shift") ?? 0),
  };
}

/**
 * Returns true if later turns show the whole conversation. Some configs set this. Since trees of turns it is the
 * default, unless the config sets what a turn repeats.
 */
export function keepsConversation(config: OldConfig): boolean {
  if (config.get("external.previous_prompts") === true || config.text("external.memory_mode") === "full") return true;
  return (
    !usesHandoff(config) && !["original_prompt", "previous_response"].some((name) => config.has(`external.${name}`))
  );
}
