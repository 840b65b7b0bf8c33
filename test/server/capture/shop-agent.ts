import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { textOf } from "../../../src/contract/message.ts";
import type { ActRequest } from "../../../src/contract/policy.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { callMessage } from "../../../src/core/tools/call-message.ts";
import type { AgentCall } from "../../../src/server/capture/agent-call.ts";

type Goods = Readonly<Record<string, number>>;

const prices: Goods = { tea: 3, jam: 4, egg: 1, oil: 5, fig: 2, ham: 9, rye: 6, nut: 7 };
const lines = Object.keys(prices).flatMap((item) => [..."123456789"].map((n): Goods => ({ [item]: Number(n) })));
const both = lines.flatMap((a, i) => lines.slice(i + 1).map((b) => ({ ...a, ...b })));
const orders = both.filter((order) => Object.keys(order).length === 2);
const written = (goods: Goods): string => Object.entries(goods).join(" ");

function costOf(goods: Goods): number {
  return Object.entries(goods).reduce((sum, [item, count]) => sum + count * (prices[item] ?? 0), 0);
}

/** Asks what two goods cost together. An answer in numbers alone is right. The agent has the tools. */
export const shop: EnvironmentDefinition<Goods> = defineEnvironment({
  id: "shop-orders",
  tasks: (split) => orders.filter((_, i) => (i % 5 === 2) === (split === "test")),
  rewardRange: [0, 1],
  reset: ({ task }) => written(task),
  step: ({ task, text }) => ({ reward: text === `${costOf(task)}` ? 1 : 0 }),
});

/** An agent of the AI SDK with a cart. Only the address of its model is Lyceum's. */
export async function shopAgent({ baseURL, apiKey, model, messages, signal }: AgentCall): Promise<string> {
  const openai = createOpenAI({ baseURL, apiKey });
  const cart: Record<string, number> = {};
  const { text } = await generateText({
    model: openai.chat(model),
    prompt: textOf(messages.at(-1)!),
    tools: {
      add: tool({
        description: "Adds goods to the cart.",
        inputSchema: z.object(Object.fromEntries(Object.keys(prices).map((item) => [item, z.int().optional()]))),
        execute: (goods) => written(Object.assign(cart, goods)),
      }),
      total: tool({
        description: "Returns what the cart costs.",
        inputSchema: z.object({}),
        execute: () => costOf(cart),
      }),
    },
    stopWhen: stepCountIs(4),
    abortSignal: signal,
  });
  return text;
}

/** The answers of an expert in the model's place: it adds the goods, asks for the total, and repeats it. */
export function shopExpert({ messages }: ActRequest): ReturnType<typeof callMessage> | string {
  const results = messages.filter(({ role }) => role === "tool");
  if (results.length === 1) return callMessage(["total"]);
  if (results.length === 2) return textOf(results[1]!);
  const words = textOf(messages.find(({ role }) => role === "user")!).split(" ");
  return callMessage([
    "add",
    Object.fromEntries(words.map((word) => [word.split(",")[0]!, Number(word.split(",")[1])])),
  ]);
}
