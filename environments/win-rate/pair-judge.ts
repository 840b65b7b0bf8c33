import { type Message, textMessage } from "../../src/contract/message.ts";
import { askForVerdict } from "../../src/core/judge/ask-for-verdict.ts";
import type { StepJudge } from "../../src/core/judge/counted-judge.ts";
import { quoted, quotedRule } from "../../src/core/judge/quoted.ts";
import type { ChatQuestion } from "./question.ts";

/** A judge's verdict on two conversations, in the order of its prompt. */
export type PairVerdict = "first" | "second" | "tie";

/** Two conversations about one question, and their judge. */
export interface PairJudgement {
  readonly judge: StepJudge | undefined;
  readonly question: ChatQuestion;
  /** The answers of each side, one per turn. */
  readonly answers: readonly [first: readonly string[], second: readonly string[]];
  /** The timeout of one verdict, in milliseconds. */
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the judge twice, with each side first once, so that the position bias cancels out (Zheng et al. 2023,
 * https://arxiv.org/abs/2306.05685, section 3.4). Rejects like `askForVerdict`.
 */
export async function judgeBothOrders(judgement: PairJudgement): Promise<readonly [PairVerdict, PairVerdict]> {
  const [one, other] = judgement.answers;
  const [straight, swapped] = await Promise.all([
    pairVerdict({ ...judgement, answers: [one, other] }),
    pairVerdict({ ...judgement, answers: [other, one] }),
  ]);
  return [straight, swapped === "first" ? "second" : swapped === "second" ? "first" : "tie"];
}

function pairVerdict({ judge, question, answers, limitMs, signal }: PairJudgement): Promise<PairVerdict> {
  return askForVerdict<PairVerdict>({
    name: "win-rate",
    judge,
    messages: judgePrompt(question, answers),
    read: (text) => {
      const verdict = readVerdict(text);
      return verdict === undefined ? { problem: "It does not end with [[A]], [[B]] or [[C]]." } : { verdict };
    },
    form,
    sampling: { temperature: 0, maxTokens: 1024 },
    limitMs,
    signal,
  });
}

const form =
  "End with your verdict alone on the last line: [[A]] if A is better, [[B]] if B is better, [[C]] if they are equally good.";

const verdicts: Readonly<Record<string, PairVerdict>> = { A: "first", B: "second", C: "tie" };

/** Returns the verdict at the end of an answer. Undefined if there is none. */
export function readVerdict(text: string): PairVerdict | undefined {
  const mark = /\[\[([ABC])\]\][.*\s]*$/.exec(text)?.[1];
  return mark === undefined ? undefined : verdicts[mark];
}

function judgePrompt({ turns, references }: ChatQuestion, answers: PairJudgement["answers"]): readonly Message[] {
  const conversation = (name: string, given: readonly string[]): string =>
    turns.map((asked, turn) => `${quoted("user", asked)}\n${quoted(name, given[turn] ?? "")}`).join("\n");
  const parts = [
    "Two assistants had the same conversation with a user, each on its own. Decide which of them served the user better: whose answers are more correct, more useful and more to the point, over the whole conversation. Ignore the order in which you read them and the length of their answers.",
    quotedRule,
    ...(references.length === 0
      ? []
      : [`Right answers, turn by turn:\n${quoted("reference", references.join("\n\n"))}`]),
    `Assistant A:\n${conversation("assistant-A", answers[0])}`,
    `Assistant B:\n${conversation("assistant-B", answers[1])}`,
    `Compare them in a few sentences. ${form}`,
  ];
  return [textMessage("user", parts.join("\n\n"))];
}
