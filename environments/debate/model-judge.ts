import { askForVerdict } from "../../src/core/judge/ask-for-verdict.ts";
import type { StepJudge } from "../../src/core/judge/counted-judge.ts";
import type { DebaterScore } from "./debate-reward.ts";
import type { Argument, DebateTopic } from "./debate-topic.ts";
import { criteria, judgePrompt, verdictForm, verdictSchema } from "./judge-prompt.ts";

/** A judge's points for each criterion, from 0 to 1. */
type Verdict = Readonly<Record<(typeof criteria)[number], number>>;

/** The input of a judge model. */
interface ModelJudgement {
  readonly judge: StepJudge | undefined;
  readonly rubric: string;
  readonly topic: DebateTopic;
  readonly agents: readonly string[];
  readonly said: readonly Argument[];
  /** The timeout of one verdict, in milliseconds. */
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns each debater's score from a judge model. The judge is asked once per debater, each time with another debater
 * first, so that every debater has every position once and the mean has no position bias. Rejects like `askForVerdict`,
 * and aborts the other requests then.
 */
export async function judgeByModel(judgement: ModelJudgement): Promise<ReadonlyMap<string, DebaterScore>> {
  const { agents, signal } = judgement;
  const stop = new AbortController();
  const stopped = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  try {
    const verdicts = await Promise.all(
      agents.map(async (_, first) => {
        const order = [...agents.slice(first), ...agents.slice(0, first)];
        const given = await verdictsOn(order, { ...judgement, signal: stopped });
        return new Map(order.map((agent, place) => [agent, given[place]!]));
      }),
    );
    return new Map(agents.map((agent) => [agent, scoreOf(verdicts.map((verdict) => verdict.get(agent)!))]));
  } finally {
    stop.abort();
  }
}

/** Returns the verdicts on debaters, in the order in which the prompt shows them. */
function verdictsOn(
  order: readonly string[],
  { judge, topic, rubric, said, limitMs, signal }: ModelJudgement,
): Promise<readonly Verdict[]> {
  const speakers = order.map((agent) => said.filter((argument) => argument.agent === agent));
  return askForVerdict<readonly Verdict[]>({
    name: "debate",
    judge,
    messages: judgePrompt({ topic, speakers, rubric }),
    read: (text) => {
      const verdict = readVerdict(text, order.length);
      return typeof verdict === "string" ? { problem: verdict } : { verdict };
    },
    form: verdictForm(order.length),
    sampling: { temperature: 0, maxTokens: 512 },
    limitMs,
    signal,
  });
}

/** Returns the verdict in an answer, which may be in a code block, or a sentence that describes why it is invalid. */
function readVerdict(answer: string, count: number): readonly Verdict[] | string {
  const text = /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(answer.trim())?.[1] ?? answer;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "It is not JSON.";
  }
  const verdict = verdictSchema.safeParse(value);
  if (!verdict.success) return "It does not have the form that was asked for.";
  const { speakers } = verdict.data;
  if (speakers.length !== count) return `It has ${speakers.length} entries, and there are ${count} speakers.`;
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
