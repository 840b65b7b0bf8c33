import type { Action, AgentId, EnvironmentDefinition } from "../environment/environment.ts";
import { contractError } from "../environment/environment-error.ts";
import { LyceumError } from "../errors/index.ts";
import { demonstrationPolicy } from "../policy/demonstration-policy.ts";
import type { Policy } from "../policy/policy.ts";
import { scriptedPolicy } from "../policy/scripted-policy.ts";
import { createRandom, deriveSeed } from "../random/random.ts";
import type { Episode } from "../rollout/episode.ts";
import { rolloutEpisode } from "../rollout/rollout-episode.ts";
import type { TaskEntry } from "../taskset/taskset.ts";

/**
 * Plays a few tasks of an environment, with noise and with its demonstrations, and throws `environment.contract` for
 * the first law of {@link Environment} that it breaks: episodes do not fail and end within `maxTurns`, totals lie in
 * `rewardRange`, a deterministic environment repeats itself, a step after the end is refused, `reset` begins anew
 * after an end, and closing twice is harmless.
 */
export async function checkEnvironmentLaws<Task>(options: {
  readonly environment: EnvironmentDefinition<Task>;
  /** The first of the environment's splits by default. */
  readonly split?: string;
  /** How many tasks to play; 4 by default. */
  readonly tasks?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}): Promise<void> {
  const { environment, seed = 0 } = options;
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const taskset = await environment.tasks(options.split ?? environment.splits[0] ?? "train", signal);
  const available = taskset.length === "unbounded" ? Infinity : taskset.length;
  for (let index = 0; index < Math.min(options.tasks ?? 4, available); index++) {
    const task = await taskset.get(index, signal);
    const policies = [noisePolicy];
    if (environment.demonstrate?.(task.task) !== undefined) policies.push(demonstrationPolicy({ environment }));
    for (const policy of policies) await checkTask({ environment, task, policy, seed, ...signal });
  }
}

/** Answers with a few random characters, the same ones for the same seed. */
const noisePolicy: Policy = scriptedPolicy(
  ({ seed }) => {
    const random = createRandom(seed);
    const length = random.integer(0, 12);
    return Array.from({ length }, () => random.pick([..."0123456789 abcxyz+-.,?\n{}"])).join("");
  },
  { name: "noise" },
);

interface TaskCheck<Task> {
  readonly environment: EnvironmentDefinition<Task>;
  readonly task: TaskEntry<Task>;
  readonly policy: Policy;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

async function checkTask<Task>(check: TaskCheck<Task>): Promise<void> {
  const { environment, task, policy, seed } = check;
  const { id, maxTurns, rewardRange, deterministic } = environment.spec;
  const where = `on task "${task.id}" with policy "${policy.name}"`;
  const broken = (problem: string, rule: string): LyceumError =>
    contractError({ environment: id, problem: `${problem} ${where}`, rule });
  const signal = check.signal === undefined ? {} : { signal: check.signal };
  const play = (): Promise<Episode> => rolloutEpisode({ environment, task, policies: policy, seed, ...signal });

  const episode = await play();
  if (episode.error !== undefined) throw broken(`failed: ${episode.error.message}`, "Episodes do not fail.");
  if (episode.status !== "completed") {
    throw broken(`did not end in ${maxTurns} turns`, "The environment ends its episodes at maxTurns itself.");
  }
  for (const [agent, { reward }] of Object.entries(episode.agents)) {
    if (reward.status === "scored" && (reward.value < rewardRange[0] || reward.value > rewardRange[1])) {
      throw broken(`gave agent "${agent}" ${reward.value}`, `Its rewardRange is [${rewardRange.join(", ")}].`);
    }
  }
  if (deterministic && content(await play()) !== content(episode)) {
    throw broken("played differently the second time", "Draw only from the seed, or set deterministic to false.");
  }
  await checkInstance({ ...check, episode, broken });
}

/** Plays the episode's own actions on an instance, then goes beyond the end. */
async function checkInstance<Task>(
  check: TaskCheck<Task> & {
    readonly episode: Episode;
    readonly broken: (problem: string, rule: string) => LyceumError;
  },
): Promise<void> {
  const { environment, task, seed, episode, broken } = check;
  const instance = await environment.create();
  const resetSeed = deriveSeed(seed, task.hash, "environment");
  const first = await instance.reset({ task: task.task, seed: resetSeed });
  let observations = first;
  let actions: Record<AgentId, Action> = {};
  for (let turn = 0; Object.keys(observations).length > 0 && turn < episode.turns; turn++) {
    actions = actionsOf(episode, turn);
    observations = (await instance.step(actions)).observations;
  }
  const late = await instance.step(actions).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!LyceumError.isInstance(late) || late.code !== "environment.contract") {
    throw broken("took a step after the end", "Reject it with code environment.contract.");
  }
  const again = await instance.reset({ task: task.task, seed: resetSeed });
  if (environment.spec.deterministic && JSON.stringify(again) !== JSON.stringify(first)) {
    throw broken("began differently after a reset", "reset leaves nothing of the episode before.");
  }
  await instance.close();
  await instance.close();
}

function actionsOf(episode: Episode, turn: number): Record<AgentId, Action> {
  const actions: Record<AgentId, Action> = {};
  for (const [agent, { turns, nodes }] of Object.entries(episode.agents)) {
    const acted = turns.find((candidate) => candidate.turn === turn);
    if (acted !== undefined) actions[agent] = { message: nodes[acted.node]!.message, finish: acted.finish };
  }
  return actions;
}

function content(episode: Episode): string {
  return JSON.stringify({ ...episode, durationMs: 0 });
}
