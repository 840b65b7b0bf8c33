import type { EnvironmentDefinition, EnvironmentFactory, StepResult } from "../environment/environment.ts";
import { addRewards, type Reward } from "../environment/reward.ts";
import { fromErrorData, unknownNameError } from "../errors/index.ts";
import { demonstratedMessage } from "../policy/demonstration-policy.ts";
import { wrapText } from "../report/terminal-text.ts";
import { visibleText } from "../report/visible-text.ts";
import { rolloutEpisode } from "../rollout/rollout-episode.ts";
import type { PlayArguments } from "./create-program.ts";
import { humanPolicy } from "./human-policy.ts";
import { namedEnvironment } from "./named-environment.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import type { Rooms } from "./rooms.ts";
import { readAnswers } from "./terminal-input.ts";

/**
 * `lyceum play`: a person plays one episode, in one agent's seat or in all. Other seats are taken by the task's
 * demonstration as far as it goes, and by the person after that. The end of the input ends the episode; throws what
 * the signal was aborted with, and what the environment threw.
 */
export async function playCommand(
  args: PlayArguments,
  options: {
    readonly rooms: Pick<Rooms, "environments" | "createBackend">;
    readonly input: NodeJS.ReadableStream;
    readonly output: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { rooms, output, signal } = options;
  const columns = output.isTTY === true ? (output.columns ?? 80) : Number.POSITIVE_INFINITY;
  const say = (text: string): void => void output.write(`${fitted(visibleText(text), columns)}\n`);
  await using opener = createPolicyOpener({ rooms, signal });
  const { environments } = rooms;
  const environment = await namedEnvironment({ id: args.environment, set: args.set, environments, open: opener.open });
  const { agents, maxTurns, rewardRange } = environment.spec;
  const { agent, seed } = args;
  if (agent !== undefined && !agents.includes(agent)) {
    throw unknownNameError({ kind: "agent", name: agent, known: agents });
  }
  const split = args.split ?? environment.splits[0] ?? "train";
  const task = await (await environment.tasks(split, { signal })).get(args.task, { signal });
  say(
    'Type what an agent answers, on as many lines as it takes. A line with a single "." sends it; Ctrl-D ends the game.',
  );
  say(`${environment.spec.id}: task ${args.task} of ${split}, seed ${seed}`);
  say(`${maxTurns === 1 ? "one turn" : `at most ${maxTurns} turns`}, reward from ${rewardRange.join(" to ")}`);

  using input = readAnswers(options.input);
  const ended = new AbortController();
  const policy = humanPolicy({
    input,
    say,
    onEnd: () => ended.abort(),
    instead: ({ agent: seat, episode }) => {
      if (agent === undefined || seat === agent || episode === undefined) return undefined;
      const answer = environment.demonstrate?.(task.task, episode)?.[episode.turn]?.[seat];
      return answer === undefined ? undefined : demonstratedMessage(answer);
    },
  });
  const totals = new Map<string, Reward>();
  const episode = await rolloutEpisode({
    environment: watched(environment, (result) => {
      for (const [name, { reward }] of Object.entries(result.agents)) {
        if (reward === undefined) continue;
        const before = totals.get(name);
        totals.set(name, before === undefined ? reward : addRewards(before, reward));
        say(`\n[${name} earns] ${rewardText(reward)}`);
      }
    }),
    task,
    policies: policy,
    seed,
    limits: { actMs: Number.POSITIVE_INFINITY },
    signal: AbortSignal.any([signal, ended.signal]),
  });
  const whole = episode.status === "completed" || episode.status === "truncated";
  say(
    whole
      ? `\nThe episode is over${episode.limit === undefined ? "" : ` (limit of ${episode.limit})`}.`
      : "\nEnded early.",
  );
  for (const name of agents) {
    const total = whole ? episode.agents[name]?.reward : totals.get(name);
    if (total !== undefined) say(`${name}: ${rewardText(total)}`);
  }
  signal.throwIfAborted();
  if (episode.status === "failed") throw fromErrorData(episode.error!);
}

/** A text whose lines fit into a terminal, broken between words. */
function fitted(text: string, columns: number): string {
  if (columns === Number.POSITIVE_INFINITY) return text;
  return text
    .split("\n")
    .flatMap((line) => wrapText(line, columns))
    .join("\n");
}

function rewardText(reward: Reward): string {
  if (reward.status === "unscored") return `unscored: ${reward.reason}`;
  const parts = Object.entries(reward.components).map(([name, value]) => `${name} ${rounded(value)}`);
  return `reward ${rounded(reward.value)} (${parts.join(", ")})`;
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}

/** The same environment, which tells of each step's result. */
function watched(environment: EnvironmentDefinition, onStep: (result: StepResult) => void): EnvironmentFactory {
  return {
    ...environment,
    create: async () => {
      const instance = await environment.create();
      return {
        specificationVersion: instance.specificationVersion,
        spec: instance.spec,
        reset: (options) => instance.reset(options),
        step: async (actions, options) => {
          const result = await instance.step(actions, options);
          onStep(result);
          return result;
        },
        close: () => instance.close(),
      };
    },
  };
}
