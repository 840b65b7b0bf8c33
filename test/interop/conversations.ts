import type { Json } from "../../src/contract/json.ts";
import { type Message, type Part, type ToolCall, type ToolSpec, textMessage } from "../../src/contract/message.ts";
import { createRandom, type Random } from "../../src/core/random/random.ts";
import { makeTexts } from "./texts.ts";

/** A conversation that ends before an assistant's turn. */
export interface Conversation {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolSpec[];
}

/** The features of a template in addition to text. */
export interface ConversationFeatures {
  readonly reasoning: boolean;
  readonly tools: boolean;
}

const argumentValues: readonly Json[] = [
  { city: "Αθήνα", days: 3 },
  { x: 0.5, y: -12, z: 123_456_789_012 },
  { nested: { list: [1, "two", null, true, { deep: [] }], empty: {} } },
  { text: "quotes \" and \\ and \n newline\t tab <b>&amp;</b> 'single' 🙂 \u2028" },
  {},
];

const tools: readonly ToolSpec[] = [
  {
    name: "get_weather",
    description: "The weather of a city: <now> & later, in “degrees”.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, default: 1 } },
      required: ["city"],
    },
  },
  { name: "roll", description: "Rolls a die.\nTwice.", parameters: { type: "object", properties: {} } },
];

/** Conversations with odd texts, the same for the same seed. */
export function makeConversations(options: {
  readonly count: number;
  readonly seed: number;
  readonly features: ConversationFeatures;
}): Conversation[] {
  const { count, seed, features } = options;
  const random = createRandom(seed);
  const texts = makeTexts({ count: 500, seed });
  return Array.from({ length: count }, () => makeConversation(random, texts, features));
}

function makeConversation(random: Random, texts: readonly string[], features: ConversationFeatures): Conversation {
  const messages: Message[] = random.next() < 0.5 ? [textMessage("system", random.pick(texts))] : [];
  const withTools = features.tools && random.next() < 0.5;
  messages.push(textMessage("user", random.pick(texts)));
  for (let turn = random.integer(0, 3); turn > 0; turn--) {
    const call = withTools && random.next() < 0.5;
    const toolCalls: ToolCall[] = call
      ? [{ id: "call_0", name: random.pick(tools).name, arguments: random.pick(argumentValues) }]
      : [];
    messages.push({
      role: "assistant",
      content: assistantParts(random, texts, features),
      ...(call ? { toolCalls } : {}),
    });
    messages.push(
      call
        ? { ...textMessage("tool", random.pick(texts)), toolCallId: "call_0" }
        : textMessage("user", random.pick(texts)),
    );
  }
  return withTools ? { messages, tools } : { messages };
}

function assistantParts(random: Random, texts: readonly string[], features: ConversationFeatures): Part[] {
  const text: Part = { type: "text", text: random.pick(texts) };
  if (!features.reasoning || random.next() < 0.5) return [text];
  return [{ type: "reasoning", text: random.pick(texts) }, text];
}

/** A conversation in the form of transformers' apply_chat_template. */
export function toTransformers(conversation: Conversation): { messages: Json; tools: Json } {
  return {
    messages: conversation.messages.map((message) => {
      const texts = (type: "text" | "reasoning"): string =>
        message.content.flatMap((part) => (part.type === type ? [part.text] : [])).join("");
      const reasoning = texts("reasoning");
      return {
        role: message.role,
        content: texts("text"),
        ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
        ...(message.toolCalls === undefined
          ? {}
          : {
              tool_calls: message.toolCalls.map((call) => ({
                type: "function",
                id: call.id,
                function: { name: call.name, arguments: call.arguments },
              })),
            }),
        ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
      };
    }),
    tools: conversation.tools?.map((tool) => ({ type: "function", function: { ...tool } })) ?? null,
  };
}
