import { datasetOf } from "./llm-collab-dataset.ts";
import type { OldConfig } from "./old-config.ts";
import { trainerSections } from "./trainer-sections.ts";

/** The agents that a config of LLM_Collab trains, by the names that they have here. */
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

/** Agents by the `collab` section of early configs for ClassEval. */
function collaborators(config: OldConfig): number | undefined {
  return config.text("collab.mode") === "ONE" ? 1 : config.number("collab.num_agents");
}

/** Turns of an episode. */
export function turnsOf(config: OldConfig): number {
  return config.number("*.num_turns") ?? 1;
}

/** Whether nothing that concerns later turns means anything. */
export function hasOneTurn(config: OldConfig): boolean {
  return turnsOf(config) === 1 && !config.alone;
}

/** Critics instead of groups. */
export function hasCritic(config: OldConfig): boolean {
  return ["iac", "maac", "ippo", "ac"].includes(algorithmName(config));
}

/** Preferences instead of rewards. */
export function isPreference(config: OldConfig): boolean {
  return config.section.startsWith("madpo");
}

/** The trainer of the policy, which in MARLHF is another than the section. */
export function algorithmName(config: OldConfig): string {
  return config.section.startsWith("marlhf") ? (config.text("*.rl_algorithm") ?? "magrpo") : config.section;
}

/** Keys of the versions that hand one joint action on after each turn. */
const handoffKeys = ["*.handoff", "*.turn_gradient_weights", "*.early_termination_weight"];

/** Keys of the versions after them, in which every joint action branches. */
const treeKeys = ["*.discount", "*.joint_mode", "*.termination_threshold", "*.rollout_buffer_size", "*.eval_interval"];

/** Whether one joint action is handed on after each turn, as before trees. The section `trainer` is younger than those. */
export function handsOn(config: OldConfig): boolean {
  if (handoffKeys.some((path) => config.has(path))) return true;
  return config.section !== "trainer" && !treeKeys.some((path) => config.has(path));
}

/** Whether answers are compared within a group: neither a critic nor preferences. */
export function hasGroups(config: OldConfig): boolean {
  return !hasCritic(config) && !isPreference(config);
}

/** Whether one joint action of a group is handed on from turn to turn. */
export function handsOnGroups(config: OldConfig): boolean {
  return turnsOf(config) > 1 && handsOn(config) && hasGroups(config);
}

/** Answers of one agent to one prompt. */
export function groupSize(config: OldConfig): number {
  return config.number("*.num_generations") ?? (hasCritic(config) ? 1 : 4);
}

/** Answers of one agent that an update waits for. */
export function bufferSize(config: OldConfig): number {
  return config.number("*.rollout_buffer_size") ?? (hasCritic(config) ? 8 : 1);
}

/** Tasks of one step: a buffer of answers there, of which a tree of turns has several. */
export function tasksPerStep(config: OldConfig): number {
  const buffer = bufferSize(config);
  if (hasCritic(config)) return Math.max(1, buffer);
  const turns = turnsOf(config);
  const joint = config.text("*.joint_mode")?.startsWith("cross") === true ? agentNames(config).length : 1;
  let nodes = 1;
  if (!handsOn(config)) for (let turn = 1; turn < turns; turn++) nodes += (groupSize(config) ** joint) ** turn;
  else nodes = turns;
  return Math.max(1, Math.round(buffer / nodes));
}

/** Whether `reward_processor` is in effect; without `enabled` it is, as in the later scripts. */
export function processesRewards(config: OldConfig): boolean {
  return config.get("reward_processor.enabled") !== false;
}

/** What a reward of the environment is once `rewards` have changed it: `scale * reward + shift`. */
export function processing(config: OldConfig): { readonly scale: number; readonly shift: number } {
  const enabled = processesRewards(config);
  return {
    scale: enabled ? (config.number("reward_processor.scale_factor") ?? 1) : 1,
    shift: (enabled ? (config.number("reward_processor.shift") ?? 0) : 0) + (config.number("*.reward_shift") ?? 0),
  };
}

/**
 * Whether later turns show everything that was said before: as some configs say, and as all do since trees of turns,
 * unless they say what a turn repeats.
 */
export function remembers(config: OldConfig): boolean {
  if (config.get("external.previous_prompts") === true || config.text("external.memory_mode") === "full") return true;
  return !handsOn(config) && !["original_prompt", "previous_response"].some((name) => config.has(`external.${name}`));
}
