import { LyceumError } from "../../contract/errors/index.ts";
import type { JudgeModel, JudgeReply, JudgeRequest, JudgeRequestLimit } from "../../contract/judge.ts";
import { textOf } from "../../contract/message.ts";
import type { ActResult, Policy, TokenUsage } from "../../contract/policy.ts";
import { deriveSeed } from "../random/random.ts";
import { contentHash } from "../taskset/content-hash.ts";

/** The maximum number of answers that are kept for equal requests. */
const keptAnswers = 10_000;

/** A request that is sent or answered. */
interface Asked {
  readonly answer: Promise<Omit<JudgeReply, "cached">>;
  /** Aborts the request when its last caller has stopped waiting. */
  readonly stop: AbortController;
  waiting: number;
}

/**
 * Makes a policy a judge model. Equal requests (messages, sampling settings, sample) with `cache` are asked once, also
 * if they are concurrent. A failed request is not kept. A request is aborted when all who wait for it have aborted.
 */
export function judgeModel(policy: Policy): JudgeModel {
  const asked = new Map<string, Asked>();
  const send = (request: JudgeRequest, key: string): Asked => {
    request.limit?.take();
    const stop = new AbortController();
    return { answer: answerOf(policy, request, { key, signal: stop.signal }), stop, waiting: 0 };
  };
  return {
    name: policy.name,
    ask: async (request) => {
      const { messages, sampling, sample = 0, cache, signal } = request;
      signal?.throwIfAborted();
      const key = contentHash(JSON.parse(JSON.stringify({ messages, sampling, sample })));
      const known = cache ? asked.get(key) : undefined;
      const current = known ?? send(request, key);
      if (cache && known === undefined) {
        asked.set(key, current);
        const oldest = asked.keys().next().value;
        if (asked.size > keptAnswers && oldest !== undefined) asked.delete(oldest);
      }
      const forget = (): void => {
        if (asked.get(key) === current) asked.delete(key);
      };
      current.answer.catch(forget);
      const answer = await waitFor(current, { signal, forget });
      return { ...answer, cached: known !== undefined };
    },
  };
}

async function answerOf(
  policy: Policy,
  { messages, sampling }: JudgeRequest,
  { key, signal }: { readonly key: string; readonly signal: AbortSignal },
): Promise<Omit<JudgeReply, "cached">> {
  const result = await policy.act({ agent: "judge", messages, sampling, seed: deriveSeed(0, key), signal });
  const { message, finish } = result.action;
  const usage = usageOf(result);
  return { text: textOf(message), finish, ...(usage === undefined ? {} : { usage }) };
}

function usageOf({ usage, tokens }: ActResult): TokenUsage | undefined {
  if (usage !== undefined || tokens === undefined) return usage;
  return { promptTokens: tokens.promptLength, completionTokens: tokens.completionIds.length };
}

/** Waits for an answer. The last one who stops waiting aborts the request. */
function waitFor<T extends Asked>(
  current: T,
  { signal, forget }: { readonly signal: AbortSignal | undefined; readonly forget: () => void },
): T["answer"] {
  current.waiting += 1;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      current.waiting -= 1;
      if (current.waiting === 0) {
        forget();
        current.stop.abort(signal!.reason);
      }
      reject(signal!.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const settle = (): void => {
      signal?.removeEventListener("abort", onAbort);
      // An answered request must not be aborted, but one whose waiters have all gone may be.
      if (signal?.aborted !== true) current.waiting -= 1;
    };
    current.answer.then(
      (answer) => {
        settle();
        resolve(answer);
      },
      (error) => {
        settle();
        reject(error);
      },
    );
  });
}

/** Creates a limit of `requests` requests, for all judges of a run together. Throws `config.invalid` below 1. */
export function judgeRequestLimit(requests: number): JudgeRequestLimit {
  if (!(requests >= 1)) {
    throw new LyceumError({
      code: "config.invalid",
      message: `A judge cannot be limited to ${requests} requests.`,
      hint: "Give a number of at least 1, or leave the limit out.",
    });
  }
  let left = requests;
  return {
    take: () => {
      if (left > 0) {
        left -= 1;
        return;
      }
      throw new LyceumError({
        code: "policy.limit",
        message: `The judge has answered the ${requests} requests that it may get.`,
        hint: "Raise the limit: judgeRequests, or --judge-requests on the command line.",
        data: { requests },
      });
    },
  };
}
