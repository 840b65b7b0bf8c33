import type { Message, ToolSpec } from "../../../src/contract/message.ts";
import type { ActResult } from "../../../src/contract/policy.ts";
import type { SamplingSettings } from "../../../src/contract/sampler.ts";
import type { CaptureDialect } from "../captured-call.ts";
import type { SampledTokens } from "./logprobs.ts";

/** A model call as a client asks for it, independent of its protocol. */
export interface ModelRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  readonly sampling: Partial<SamplingSettings>;
  readonly seed?: number;
  readonly stream: boolean;
  /** True if a stream ends with the token counts. Only the chat protocol can omit them. */
  readonly streamUsage?: boolean;
  readonly logprobs?: boolean;
  /** True if the answer has token ids, as vLLM's `return_token_ids` asks for. */
  readonly tokenIds?: boolean;
}

/** The answer to a client. */
export interface ModelAnswer {
  readonly id: string;
  readonly model: string;
  /** In seconds since 1970. */
  readonly created: number;
  /** The action and the tokens. The ids of its tool calls are unique within the session. */
  readonly result: Pick<ActResult, "action" | "usage"> & SampledTokens;
  /** The whole prompt, if the request asks for token ids. */
  readonly promptIds?: readonly number[];
  readonly request: ModelRequest;
}

/** An event of a stream. Without `event`, only its data is sent. */
export interface StreamEvent {
  readonly event?: string;
  readonly data: unknown;
}

/** An error in the form that all protocols share. */
export interface DialectError {
  readonly status: number;
  readonly message: string;
  /** A stable name of the cause, such as `policy.prompt-too-long`. */
  readonly code: string;
}

/** Earlier answers of a session, for protocols whose clients refer to them by id. */
export interface EarlierAnswers {
  /** Returns the conversation up to and including the answer with this id. */
  conversation(id: string): readonly Message[] | undefined;
}

/** Translates between a client's protocol and Lyceum's messages. */
export interface Dialect {
  readonly name: CaptureDialect;
  /** Reads a request. Throws `server.invalid-request` for invalid bodies and for features that are not supported. */
  read(body: unknown, earlier: EarlierAnswers): ModelRequest;
  answer(answer: ModelAnswer): unknown;
  /** The answer as a stream. */
  events(answer: ModelAnswer): readonly StreamEvent[];
  error(error: DialectError): unknown;
  /** The event of an error after the stream has begun. */
  errorEvent(error: DialectError): StreamEvent;
}
