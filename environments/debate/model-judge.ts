import { LyceumError } from "../../src/contract/errors/index.ts";
import { textMessage, textOf } from "../../src/contract/message.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { boundedWait } from "../../src/core/rollout/bounded-wait.ts";
import type { OwnScore } from "./debate-reward.ts";
import type { Argument, DebateTopic } from "./debate-topic.ts";
import { criteria, judgePrompt, verdictSchema } from "./judge-prompt.ts";

/** A judge's points on each criterion, from 0 to 1. */
type Verdict = Readonly<Record<(typeof criteria)[number], number>>;

/** What a model is asked to judge. */
interface ModelJudgement {
  readonly judge: Policy;
  readonly rubric: string;
  readonly topic: DebateTopic;
  readonly agents: readonly string[];
  readonly said: readonly Argument[];
  /** The longest wait for one answer, in milliseconds. */
  readonly limitMs: number;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/**
 * Each debater's score by a model. The judge is asked as often as there are debaters, each time with another one
 * first, so that everyone stands in every place once; the mean has no bias for a place. An answer that is no verdict
 * is asked for once more. Rejects with `timeout`, `policy.failed` for a second answer that is no verdict, with what
 * the judge throws, or with the signal's reason; what it was waiting for is stopped.
 */
export async function judgeByModel(judgement: ModelJudgement): Promise<ReadonlyMap<string, OwnScore>> {
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
  /** The debaters as the judge sees them. */
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
  const again = textMessage("user", `That is no verdict: ${verdict} Answer with the JSON alone.`);
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

/** The verdict in an answer, which may stand in a code block; or, as a sentence, why there is none. */
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

/** The mean of the verdicts; every criterion weighs the same. */
function scoreOf(verdicts: readonly Verdict[]): OwnScore {
  const components: Record<string, number> = {};
  let value = 0;
  for (const name of criteria) {
    const points = verdicts.reduce((total, verdict) => total + verdict[name], 0) / verdicts.length;
    components[name] = points / criteria.length;
    value += points / criteria.length;
  }
  return { value: Math.min(1, value), components };
}
