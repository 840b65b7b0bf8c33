import type { Action } from "../src/contract/action.ts";
import { LyceumError, unknownNameError } from "../src/contract/errors/index.ts";
import type { Json } from "../src/contract/json.ts";
import {
  argumentsText,
  type Message,
  type ToolCall,
  type ToolSpec,
  textMessage,
  textOf,
} from "../src/contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../src/contract/policy.ts";
import { parseExactJson } from "../src/core/text/exact-json.ts";
import type { TerminalInput } from "./terminal-input.ts";

/** The options of {@link humanPolicy}. */
export interface HumanPolicyOptions {
  readonly input: TerminalInput;
  /** Prints a text for the person, on separate lines. */
  readonly say: (text: string) => void;
  /** Called at the end of the input. The policy then rejects with `aborted`. */
  readonly onEnd: () => void;
  /** Answers instead of the person, if it returns an answer. */
  readonly instead?: (request: ActRequest) => ActResult | undefined | Promise<ActResult | undefined>;
}

/**
 * Creates a policy that is played by a person. It shows the new messages of an agent and its tools, and reads the
 * answer. A line `/call NAME {"key": "value"}` is a tool call. Agents that act at the same time are asked one after the
 * other.
 */
export function humanPolicy(options: HumanPolicyOptions): Policy {
  let turn: Promise<unknown> = Promise.resolve();
  return {
    specificationVersion: "v1",
    name: "a person",
    accepts: ["text", "reasoning", "image"],
    act: (request) => {
      const asked = turn.then(() => ask(request, options));
      turn = asked.catch(() => {});
      return asked;
    },
  };
}

async function ask(request: ActRequest, options: HumanPolicyOptions): Promise<ActResult> {
  const { agent, messages, tools = [] } = request;
  const { input, say, onEnd } = options;
  const signal = request.signal ?? new AbortController().signal;
  signal.throwIfAborted();
  for (const message of messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1)) {
    say(`\n[${message.role} to ${agent}]\n${shown(message)}`);
  }
  const instead = await options.instead?.(request);
  if (instead !== undefined) {
    say(`\n[${agent} answers]\n${shown(instead.action.message)}`);
    return instead;
  }
  if (tools.length > 0) {
    say(`\nTools, called by a line /call NAME {"key": "value"}:`);
    for (const tool of tools) say(`  ${tool.name}: ${tool.description} ${JSON.stringify(tool.parameters)}`);
  }
  say(`\nYour answer as ${agent}, "." on its own line sends it:`);
  for (;;) {
    const text = await input.answer(signal);
    if (text === undefined) {
      onEnd();
      throw new LyceumError({ code: "aborted", message: "The input ended." });
    }
    try {
      return { action: actionOf(text, tools) };
    } catch (error) {
      if (!LyceumError.isInstance(error)) throw error;
      say(`${error.message} ${error.hint ?? ""}\nOnce more:`);
    }
  }
}

function shown(message: Message): string {
  const parts = message.content.map((part) => (part.type === "image" ? `(an image, ${part.mediaType})` : part.text));
  const calls = (message.toolCalls ?? []).map((call) => `/call ${call.name} ${argumentsText(call)}`);
  return [parts.join(""), ...calls].join("\n");
}

/** Converts a typed answer to an action. Its lines `/call ...` are tool calls if there are tools. */
function actionOf(text: string, tools: readonly ToolSpec[]): Action {
  const said: string[] = [];
  const toolCalls: ToolCall[] = [];
  for (const line of text.split("\n")) {
    const call = tools.length === 0 ? null : /^\/call\s+(\S+)\s*(.*)$/.exec(line);
    if (call === null) said.push(line);
    else toolCalls.push(toolCall(call[1]!, call[2]!, { tools, id: `call-${toolCalls.length + 1}` }));
  }
  const message = textMessage("assistant", said.join("\n"));
  return toolCalls.length === 0
    ? { message, finish: "stop" }
    : {
        message: { ...message, content: textOf(message) === "" ? [] : message.content, toolCalls },
        finish: "tool-calls",
      };
}

function toolCall(
  name: string,
  text: string,
  options: { readonly tools: readonly ToolSpec[]; readonly id: string },
): ToolCall {
  const known = options.tools.map((tool) => tool.name);
  if (!known.includes(name)) throw unknownNameError({ kind: "tool", name, known });
  try {
    return { id: options.id, name, arguments: parseExactJson(text === "" ? "{}" : text) as Json };
  } catch {
    throw new LyceumError({
      code: "config.invalid",
      message: `"${text}" is not JSON.`,
      hint: 'Such as {"key": "value"}.',
    });
  }
}
