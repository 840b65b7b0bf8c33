import { LyceumError } from "../../src/contract/errors/index.ts";
import { textMessage, textOf } from "../../src/contract/message.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { boundedWait } from "../../src/core/rollout/bounded-wait.ts";
import type { DebaterScore } from "./debate-reward.ts";
import type { Argument, DebateTopic } from "./debate-topic.ts";
import { criteria, judgePrompt, verdictSchema } from "./judge-prompt.ts";

/** A judge's points for each criterion, from 0 to 1. */
type Verdict = Readonly<Record<(typeof criteria)[number], number>>;

/** The input of a judge model. */
interface ModelJudgement {
  readonly judge: Policy;
  readonly rubric: string;
  readonly topic: DebateTopic;
  readonly agents: readonly string[];
  readonly said: readonly Argument[];
  /** The timeout of one answer, in milliseconds. */
  readonly limitMs: number;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/**
 * Returns each debater's score from a judge model. The judge is asked once per debater, each time with another debater
 * first, so that every debater has every position once and the mean has no position bias. An invalid answer is
 * requested once more. Rejects with `timeout`, with `policy.failed` after a second invalid answer, with the judge's
 * errors, or with the signal's reason. Pending requests are aborted.
 */
export async function judgeByModel(judgement: ModelJudgement): Promise<ReadonlyMap<string, DebaterScore>> {
  const { agents, seed, signal } = judgement;
  const stop = new AbortController();
  const stopped = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  try {
    const verdicts = await Promise.all(
      agents.map(async (_, first) => {
        const order = [...agents.slice(first), ...agents.slice(0, first)];
        const given = await askTwice(judgement, { order, seed: deriveSeed(seed, "judge", first), signal: stopped });
        return new Map(order.map((agent, place) => [agent, given[place]!]));
      }),
    );
    return new Map(agents.map((agent) => [agent, scoreOf(verdicts.map((verdict) => verdict.get(agent)!))]));
  } finally {
    stop.abort();
  }
}

interface Asking {
  /** The order of debaters in the prompt. */
  readonly order: readonly string[];
  readonly seed: number;
  readonly signal: AbortSignal;
}

async function askTwice(judgement: ModelJudgement, { order, seed, signal }: Asking): Promise<readonly Verdict[]> {
  const { topic, rubric, said } = judgement;
  const speakers = order.map((agent) => said.filter((argument) => argument.agent === agent));
  const question = textMessage("user", judgePrompt({ topic, speakers, rubric, seed }));
  const first = await ask(judgement, { messages: [question], seed, signal });
  const verdict = readVerdict(first, order.length);
  if (typeof verdict !== "string") return verdict;
  const again = textMessage("user", `Your answer is not a verdict: ${verdict} Answer with the JSON alone.`);
  const second = await ask(judgement, {
    messages: [question, textMessage("assistant", first), again],
    seed: deriveSeed(seed, "again"),
    signal,
  });
  const corrected = readVerdict(second, order.length);
  if (typeof corrected !== "string") return corrected;
  throw new LyceumError({
    code: "policy.failed",
    message: `The judge gave no verdict in two answers: ${corrected}`,
    hint: "Judge with a model that can answer in JSON, or by rules.",
  });
}

async function ask(
  { judge, limitMs }: ModelJudgement,
  request: {
    readonly messages: Parameters<Policy["act"]>[0]["messages"];
    readonly seed: number;
    readonly signal: AbortSignal;
  },
): Promise<string> {
  const timeout = new LyceumError({
    code: "timeout",
    message: `The judge took longer than ${limitMs / 1000} seconds.`,
    hint: "Raise judgeSeconds, or judge with a faster model.",
  });
  const answer = judge.act({ ...request, agent: "judge", sampling: { temperature: 0, maxTokens: 512 } });
  const { action } = await boundedWait(answer, { ms: limitMs, signal: request.signal, timeout: () => timeout });
  return textOf(action.message);
}

/** Returns the verdict in an answer, which may be in a code block, or a sentence that describes why it is invalid. */
function readVerdict(answer: string, count: number): readonly Verdict[] | string {
  const text = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(answer.trim())?.[1] ?? answer;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "it is not JSON.";
  }
  const verdict = verdictSchema.safeParse(value);
  if (!verdict.success) return `it does not have the form that was asked for.`;
  const { speakers } = verdict.data;
  if (speakers.length !== count) return `it has ${speakers.length} entries, and there are ${count} speakers.`;
  return speakers.map(({ evidence, reasoning, consistency, answering }) => ({
    evidence: evidence / 10,
    reasoning: reasoning / 10,
    consistency: consistency / 10,
    answering: answering / 10,
  }));
}

/** Returns the mean of the verdicts. All criteria have the same weight. */
function scoreOf(verdicts: readonly Verdict[]): DebaterScore {
  const components: Record<string, number> = {};
  let value = 0;
  for (const name of criteria) {
    const points = verdicts.reduce((total, verdict) => total + verdict[name], 0) / verdicts.length;
    components[name] = points / criteria.length;
    value += points / criteria.length;
  }
  return { value: Math.min(1, value), components };
}
