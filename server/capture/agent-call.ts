import type { Message, ToolSpec } from "../../src/contract/message.ts";

/** What an agent program needs for one action. */
export interface AgentCall {
  /** The address of OpenAI's protocols, such as `http://127.0.0.1:8000/v1`. */
  readonly baseURL: string;
  /** The address of Anthropic's protocol, without `/v1`. */
  readonly anthropicBaseURL: string;
  /** The key of this run of the program. It ends with the run. */
  readonly apiKey: string;
  /** The name of the model. The program may use any name. */
  readonly model: string;
  /** The conversation with the environment, oldest message first. */
  readonly messages: readonly Message[];
  /** The tools of the environment. A program usually has tools of its own and ignores them. */
  readonly tools: readonly ToolSpec[];
  /** Aborts if the action is no longer needed, or at the time limit. */
  readonly signal: AbortSignal;
}

/** Runs a program once. Rejects with a `ProgramError` if it fails, and with the signal's reason after an abort. */
export type RunProgram = (call: AgentCall) => Promise<string | Message>;
