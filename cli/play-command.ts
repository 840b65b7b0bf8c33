import { wrapText } from "../reports/training/terminal-text.ts";
import type { EnvironmentDefinition, StepResult } from "../src/contract/environment.ts";
import { fromErrorData, LyceumError, unknownNameError } from "../src/contract/errors/index.ts";
import type { ActResult, Policy } from "../src/contract/policy.ts";
import { addRewards, type Reward } from "../src/contract/reward.ts";
import { splitTasks } from "../src/core/environment/checked-environment.ts";
import { demonstratedMessage } from "../src/core/policy/demonstration-policy.ts";
import { rolloutEpisode } from "../src/core/rollout/rollout-episode.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { type WrappedEpisode, wrapEnvironment } from "../src/core/wrappers/wrap-environment.ts";
import { namedEngine } from "./catalog.ts";
import type { CommandContext } from "./command-context.ts";
import type { PlayArguments } from "./create-program.ts";
import { humanPolicy } from "./human-policy.ts";
import { modelSettings } from "./model-arguments.ts";
import { namedEnvironment } from "./named-environment.ts";
import { createPolicyOpener, type PolicyOpener } from "./policy-opener.ts";
import { readAnswers } from "./terminal-input.ts";

/**
 * Runs `lyceum play`: a person plays one episode, as one agent or as all. If a model is given, it plays the other
 * agents, or all agents without `--agent`. Otherwise the task's demonstration plays the other agents, and the person
 * continues after its end. The end of the input ends the episode. Throws the reason of an abort, and the errors of
 * opening a model and of the environment.
 */
export async function playCommand(
  args: PlayArguments,
  options: Omit<CommandContext, "environment"> & { readonly input: NodeJS.ReadableStream },
): Promise<void> {
  const { catalog, output, signal } = options;
  const columns = output.isTTY === true ? (output.columns ?? 80) : Number.POSITIVE_INFINITY;
  const say = (text: string): void => void output.write(`${fitted(visibleText(text), columns)}\n`);
  await using opener = createPolicyOpener({ catalog, engine: namedEngine(args), signal });
  const { environments } = catalog;
  const { environment: id, set, judge } = args;
  const environment = await namedEnvironment({ id, set, judge, environments, open: opener.open });
  const { agents, maxTurns, rewardRange } = environment.spec;
  const { agent, seed } = args;
  if (agent !== undefined && !agents.includes(agent)) {
    throw unknownNameError({ kind: "agent", name: agent, known: agents });
  }
  const partner = await openPartner(args, { environment, opener });
  opener.checkEngineOptions(args);
  const split = args.split ?? environment.splits[0] ?? "train";
  const task = await (await splitTasks(environment, split, { signal })).get(args.task, { signal });
  const watched = partner !== undefined && agent === undefined;
  if (!watched) {
    say(
      'Type what an agent answers, on as many lines as it takes. A line with a single "." sends it; Ctrl-D ends the game.',
    );
  }
  say(`${environment.spec.id}: task ${args.task} of ${split}, seed ${seed}`);
  say(`${maxTurns === 1 ? "one turn" : `at most ${maxTurns} turns`}, reward from ${rewardRange.join(" to ")}`);

  using input = readAnswers(options.input);
  const ended = new AbortController();
  const policy = humanPolicy({
    input,
    say,
    onEnd: () => ended.abort(),
    instead: async (request) => {
      const { agent: acting, episode } = request;
      if (acting === agent) return undefined;
      if (partner !== undefined) return partner.act(request);
      if (agent === undefined || episode === undefined) return undefined;
      const answer = environment.demonstrate?.(task.task, episode)?.[episode.turn]?.[acting];
      return answer === undefined ? undefined : demonstrated(answer);
    },
  });
  const totals = new Map<string, Reward>();
  const episode = await rolloutEpisode({
    environment: withStepResults(environment, (result) => {
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
    sampling: { temperature: args.temperature, maxTokens: args.maxTokens },
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

/** Opens the model that plays the other agents, if one is given. */
async function openPartner(
  { agent, model, base, modelOption }: Pick<PlayArguments, "agent" | "model" | "base" | "modelOption">,
  { environment, opener }: { readonly environment: EnvironmentDefinition; readonly opener: PolicyOpener },
): Promise<Policy | undefined> {
  if (model === undefined) return undefined;
  const played = environment.spec.agents.filter((name) => name !== agent);
  if (played.length > 0)
    return opener.openSettings(await modelSettings({ model, base, modelOption }), { environment, played });
  throw new LyceumError({
    code: "config.invalid",
    message: `No agent is left for the model: "${agent}" is the only one.`,
    hint: "Omit --agent to watch the model, or omit --model to play yourself.",
  });
}

function demonstrated(answer: Parameters<typeof demonstratedMessage>[0]): ActResult {
  const message = demonstratedMessage(answer);
  return { action: { message, finish: message.toolCalls === undefined ? "stop" : "tool-calls" } };
}

/** Wraps a text between words so that its lines fit into a terminal. */
function fitted(text: string, columns: number): string {
  if (columns === Number.POSITIVE_INFINITY) return text;
  return text
    .split("\n")
    .flatMap((line) => wrapText(line, columns))
    .join("\n");
}

function rewardText(reward: Reward): string {
  if (reward.status === "unscored") return `unscored: ${reward.reason}`;
  // A reward without components has one component, named "reward".
  const parts = Object.entries(reward.components).filter(([name]) => name !== "reward");
  const shown = parts.map(([name, value]) => `${name} ${rounded(value)}`).join(", ");
  return `reward ${rounded(reward.value)}${shown === "" ? "" : ` (${shown})`}`;
}

function rounded(value: number): number {
  return Number(value.toFixed(4));
}

/** Wraps an environment so that it reports the result of each step. */
function withStepResults(
  environment: EnvironmentDefinition,
  onStep: (result: StepResult) => void,
): EnvironmentDefinition {
  const episode: WrappedEpisode = {
    step: async (actions, inner) => {
      const result = await inner(actions);
      onStep(result);
      return result;
    },
    copy: () => episode,
  };
  return wrapEnvironment(environment, { start: () => episode });
}
