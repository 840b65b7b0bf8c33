import { randomBytes } from "node:crypto";
import type { AgentId } from "../../src/contract/action.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import type { Message, ToolCall } from "../../src/contract/message.ts";
import type { ActResult, ActTokens, Policy, PreviousTokens } from "../../src/contract/policy.ts";
import type { SamplingSettings } from "../../src/contract/sampler.ts";
import { TokenPrefix } from "../../src/contract/token-prefix.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { withoutInlineReasoning } from "../../src/core/tokens/split-reasoning.ts";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import type { CaptureDialect, CapturedCall } from "./captured-call.ts";
import { type ConversationKeys, conversationKeys } from "./conversation-key.ts";
import type { EarlierAnswers, ModelAnswer, ModelRequest } from "./dialects/dialect.ts";

/** The options of a session. */
export interface CaptureSessionOptions {
  /** Answers the calls. */
  readonly policy: Policy;
  /** The agent whose calls these are. `agent` by default. */
  readonly agent?: AgentId;
  /**
   * Settings that replace those of the client. With a temperature, they are the whole distribution, and the client's
   * top-k, top-p and min-p have no effect: training samples from the distribution that it expects. `maxTokens` is an
   * upper limit, and `stop` adds to the client's. Defaults: temperature 1, at most 4,096 tokens.
   */
  readonly sampling?: Partial<SamplingSettings>;
  /** The seeds of the calls derive from it and from their order, unless the client names one. 0 by default. */
  readonly seed?: number;
  /**
   * The number of calls that the policy answers. Later ones get a short text that ends the client's loop. They are not
   * recorded. Unlimited by default.
   */
  readonly maxModelCalls?: number;
  /** The id, which is the client's API key. An unguessable one by default. */
  readonly sessionId?: string;
  /** Shown by the admin routes. */
  readonly metadata?: Readonly<Record<string, Json>>;
  /** Aborts the running calls and closes the session. */
  readonly signal?: AbortSignal;
}

/** The calls of one client program. */
export interface CaptureSession extends AsyncDisposable {
  /** The API key of the client. */
  readonly id: string;
  readonly agent: AgentId;
  /** The recorded calls in the order of their answers. A call comes after the call that it continues. */
  calls(): readonly CapturedCall[];
  /** The errors of calls that the policy did not answer, in order. */
  errors(): readonly unknown[];
  /** Aborts the running calls and refuses later ones. The recorded calls stay readable. */
  close(): Promise<void>;
}

/** The text of an answer after the last allowed call. */
const budgetText = "Step budget exhausted; stopping.";

/** A recorded call with its tokens so far. */
interface Known {
  readonly place: number;
  readonly previous: PreviousTokens | undefined;
}

/** A session as the server uses it. */
export class RecordedSession implements CaptureSession, EarlierAnswers {
  readonly id: string;
  readonly agent: AgentId;
  readonly options: CaptureSessionOptions;
  readonly createdAt: number = Date.now();
  lastCallAt: number = Date.now();
  /** The number of calls beyond `maxModelCalls`. */
  budgetStops = 0;
  readonly #calls: CapturedCall[] = [];
  readonly #errors: unknown[] = [];
  readonly #byConversation = new Map<string, Known>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  readonly #onClose: () => void;
  readonly #maxParallelCalls: number;
  #started = 0;
  #toolCalls = 0;

  constructor(
    options: CaptureSessionOptions,
    { onClose, maxParallelCalls }: { readonly onClose: () => void; readonly maxParallelCalls: number },
  ) {
    this.id = options.sessionId ?? newSessionId();
    this.agent = options.agent ?? "agent";
    this.options = options;
    this.#onClose = onClose;
    this.#maxParallelCalls = maxParallelCalls;
    options.signal?.addEventListener("abort", () => void this.close(), { once: true, signal: this.#closing.signal });
  }

  calls(): readonly CapturedCall[] {
    return [...this.#calls];
  }

  errors(): readonly unknown[] {
    return [...this.#errors];
  }

  /** True while the policy answers a call. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  conversation(id: string): readonly Message[] | undefined {
    const call = this.#calls.find((known) => known.id === id);
    return call === undefined ? undefined : [...call.messages, call.action.message];
  }

  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#onClose();
      this.#closing.abort(closedError());
    }
    await Promise.allSettled(this.#running);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Answers a request by the policy and records the call. Rejects if the policy does. */
  async ask(
    request: ModelRequest,
    { dialect, signal }: { readonly dialect: CaptureDialect; readonly signal: AbortSignal },
  ): Promise<ModelAnswer> {
    this.#closing.signal.throwIfAborted();
    this.lastCallAt = Date.now();
    const { maxModelCalls = Infinity } = this.options;
    if (this.#started >= maxModelCalls) return this.#budgetAnswer(request);
    if (this.#running.size >= this.#maxParallelCalls) throw tooManyCalls(this.#maxParallelCalls);
    const keys = conversationKeys(request.messages, request.tools);
    const index = this.#started;
    this.#started += 1;
    const answering = this.#answer({ request, dialect, index, keys, signal });
    this.#running.add(answering);
    try {
      return await answering;
    } catch (error) {
      this.#errors.push(error);
      throw error;
    } finally {
      this.#running.delete(answering);
    }
  }

  async #answer({ request, dialect, index, keys, signal }: Asked): Promise<ModelAnswer> {
    const { policy, seed: root = 0 } = this.options;
    const { messages, tools } = request;
    checkParts(policy, messages);
    const known = this.#longestKnown(messages, keys);
    const sampling = mergedSampling(request.sampling, this.options.sampling);
    const seed = request.seed ?? deriveSeed(root, "capture", index);
    const result = await policy.act({
      agent: this.agent,
      messages,
      sampling,
      seed,
      signal: AbortSignal.any([signal, this.#closing.signal]),
      ...(tools === undefined ? {} : { tools }),
      ...(known?.previous === undefined ? {} : { previous: known.previous }),
    });
    this.#closing.signal.throwIfAborted();
    const separated = withoutInlineReasoning(result);
    return this.#record({ request, dialect, keys, known, sampling, seed, result: separated });
  }

  #record({ request, dialect, keys, known, sampling, seed, result }: Answered): ModelAnswer {
    const action = { ...result.action, message: this.#withUniqueCalls(result.action.message) };
    const tokens = result.tokens && { ...result.tokens, sampling: result.tokens.sampling ?? sampling };
    const prompt = tokens && promptOf(tokens, known?.previous);
    const { messages, tools, model } = request;
    const answeredAt = Date.now();
    const call = withoutUndefined<CapturedCall>({
      id: randomBytes(12).toString("hex"),
      dialect,
      model,
      continues: known?.place,
      messages,
      tools,
      action,
      tokens,
      usage: result.usage,
      latencyMs: result.latencyMs,
      seed,
      sampling,
      requestedSampling: request.sampling,
      rerendered: known?.previous !== undefined && tokens?.extendsPrevious === false ? true : undefined,
      answeredAt,
    });
    if (prompt !== undefined) {
      Object.defineProperty(call, "promptIds", { enumerable: true, get: () => prompt.toArray() });
    }
    const place = this.#calls.push(call) - 1;
    this.lastCallAt = answeredAt;
    const previous = prompt && { ids: prompt.append(tokens!.completionIds), messageCount: messages.length + 1 };
    this.#byConversation.set(keys.followedBy(action.message), { place, previous });
    const { usage, logprobs } = result;
    const created = Math.floor(answeredAt / 1000);
    return withoutUndefined<ModelAnswer>({
      id: call.id,
      model: model || this.options.policy.name,
      created,
      request,
      promptIds: request.tokenIds ? prompt?.toArray() : undefined,
      result: withoutUndefined({ action, tokens, usage, logprobs }),
    });
  }

  /** Returns the answered call whose messages and answer are the longest beginning of a conversation. */
  #longestKnown(messages: readonly Message[], keys: ConversationKeys): Known | undefined {
    for (let count = messages.length - 1; count > 0; count--) {
      if (messages[count - 1]!.role !== "assistant") continue;
      const known = this.#byConversation.get(keys.upTo(count));
      if (known !== undefined) return known;
    }
    return undefined;
  }

  /**
   * Renames the tool calls of an answer, because clients expect ids that are unique in a conversation. An id has nine
   * letters and digits, as some chat templates require, and is equal in each run.
   */
  #withUniqueCalls(message: Message): Message {
    if (message.toolCalls === undefined) return message;
    const toolCalls = message.toolCalls.map((call): ToolCall => {
      const id = `call${(this.#toolCalls++).toString(36).padStart(5, "0")}`;
      return { ...call, id };
    });
    return { ...message, toolCalls };
  }

  #budgetAnswer(request: ModelRequest): ModelAnswer {
    this.budgetStops += 1;
    const message: Message = { role: "assistant", content: [{ type: "text", text: budgetText }] };
    return {
      id: `budget-${randomBytes(12).toString("hex")}`,
      model: request.model || this.options.policy.name,
      created: Math.floor(Date.now() / 1000),
      result: { action: { message, finish: "stop" } },
      request,
    };
  }
}

interface Asked {
  readonly request: ModelRequest;
  readonly dialect: CaptureDialect;
  readonly index: number;
  readonly keys: ConversationKeys;
  readonly signal: AbortSignal;
}

interface Answered extends Pick<Asked, "request" | "dialect" | "keys"> {
  readonly known: Known | undefined;
  readonly sampling: SamplingSettings;
  readonly seed: number;
  readonly result: ActResult;
}

/** Returns an id with 192 random bits. */
function newSessionId(): string {
  return `lyceum-${randomBytes(24).toString("base64url")}`;
}

/** Returns the whole prompt. Throws `policy.failed` if the tokens do not add up to it. */
function promptOf(tokens: ActTokens, previous: PreviousTokens | undefined): TokenPrefix {
  const { extendsPrevious, newPromptIds, promptLength } = tokens;
  const prompt = (extendsPrevious ? previous?.ids : TokenPrefix.empty)?.append(newPromptIds);
  if (prompt?.length === promptLength && tokens.completionIds.length === tokens.logprobs.length) return prompt;
  throw new LyceumError({
    code: "policy.failed",
    message: "The policy answered with tokens that are not those of its prompt and answer.",
    hint: "This is an error in the policy: its tokens must be exactly those that the model read and sampled.",
  });
}

function mergedSampling(asked: Partial<SamplingSettings>, fixed: Partial<SamplingSettings> = {}): SamplingSettings {
  const stop = [...new Set([...(asked.stop ?? []), ...(fixed.stop ?? [])])];
  const { maxTokens: limit = 4096 } = fixed;
  const free = fixed.temperature === undefined ? asked : {};
  const { stop: _, ...merged } = { temperature: 1, ...free, ...withoutUndefined(fixed) };
  return {
    ...merged,
    maxTokens: Math.min(asked.maxTokens ?? limit, limit),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

function checkParts({ name, accepts }: Policy, messages: readonly Message[]): void {
  for (const { content } of messages) {
    for (const { type } of content) {
      // Earlier reasoning of the client is always accepted: policies that cannot send it leave it out.
      if (type === "reasoning" || accepts.includes(type)) continue;
      throw new LyceumError({
        code: "policy.unsupported-input",
        message: `Policy "${name}" does not accept parts of type ${type}, only ${accepts.join(", ")}.`,
        hint: "Send only such parts, or use another model.",
      });
    }
  }
}

function tooManyCalls(maximum: number): LyceumError {
  return new LyceumError({
    code: "server.capacity",
    message: `The session has ${maximum} running calls, which is its limit.`,
    hint: "Wait for an answer, or raise maxParallelCalls.",
    data: { maxParallelCalls: maximum },
  });
}

function closedError(): LyceumError {
  return new LyceumError({
    code: "server.unknown-session",
    message: "The session is closed.",
    hint: "Open another session.",
  });
}
