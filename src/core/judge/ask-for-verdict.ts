import { LyceumError } from "../../contract/errors/index.ts";
import type { JudgeModel, JudgeReply } from "../../contract/judge.ts";
import { type Message, textMessage } from "../../contract/message.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import { boundedWait } from "../rollout/bounded-wait.ts";
import type { StepJudge } from "./counted-judge.ts";
import { noVerdict, unlistedJudge } from "./judge-errors.ts";

/** A question to a judge that has a verdict as its answer. */
export interface VerdictQuestion<Verdict> {
  /** The name of the judge, for errors. */
  readonly name: string;
  /** The judge of the step that asks. */
  readonly judge: StepJudge | undefined;
  /** The model to ask if the step has none. */
  readonly model?: JudgeModel | undefined;
  readonly messages: readonly Message[];
  /** Returns the verdict in a complete answer, or a sentence about what is wrong, such as "It is not JSON." */
  readonly read: (text: string) => { readonly verdict: Verdict } | { readonly problem: string };
  /** The form of the verdict, for a second request. */
  readonly form: string;
  readonly sampling: SamplingSettings;
  readonly sample?: number;
  readonly cache?: boolean;
  /** The timeout of all answers to the question together, in milliseconds. */
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks a judge for a verdict. If its answer has none or is cut off, it is asked once more. Rejects with `policy.failed`
 * if the second answer has none either, with `timeout`, with the judge's errors and with the signal's reason on abort.
 * A timeout aborts the request.
 */
export async function askForVerdict<Verdict>(question: VerdictQuestion<Verdict>): Promise<Verdict> {
  const { limitMs, signal } = question;
  const stop = new AbortController();
  const stopped = signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  const timeout = (): LyceumError =>
    new LyceumError({
      code: "timeout",
      message: `The judge took longer than ${limitMs / 1000} seconds.`,
      hint: "Allow it more time, or judge with a faster model.",
    });
  try {
    return await boundedWait(askTwice(question, stopped), { ms: limitMs, signal, timeout });
  } finally {
    stop.abort();
  }
}

async function askTwice<Verdict>(question: VerdictQuestion<Verdict>, signal: AbortSignal): Promise<Verdict> {
  const first = await ask(question, { messages: question.messages, signal });
  const given = readReply(question, first);
  if ("verdict" in given) return given.verdict;
  const again = `Your answer has no verdict: ${given.problem} ${question.form}`;
  const messages = [...question.messages, textMessage("assistant", first.text), textMessage("user", again)];
  const second = await ask(question, { messages, signal });
  const corrected = readReply(question, second);
  if ("verdict" in corrected) return corrected.verdict;
  throw noVerdict(corrected.problem, second.text);
}

async function ask(
  question: Omit<VerdictQuestion<unknown>, "read">,
  { messages, signal }: { readonly messages: readonly Message[]; readonly signal: AbortSignal },
): Promise<JudgeReply> {
  const { name, judge, model, sampling, sample = 0, cache = sampling.temperature === 0 } = question;
  const request = { messages, sampling, sample, cache, model, signal };
  const reply = judge === undefined ? await model?.ask(request) : await judge.ask(request);
  if (reply === undefined) throw unlistedJudge(name);
  return reply;
}

/** Reads a complete answer. The last words of one that was cut off can be those of the judged text. */
function readReply<Verdict>(
  { read, sampling }: Pick<VerdictQuestion<Verdict>, "read" | "sampling">,
  { text, finish }: JudgeReply,
): ReturnType<VerdictQuestion<Verdict>["read"]> & ({ verdict: Verdict } | { problem: string }) {
  if (finish === "length") return { problem: `It was cut off after ${sampling.maxTokens} tokens.` };
  if (text.trim() === "") return { problem: "It is empty." };
  return read(text);
}
