// An agent of the AI SDK with two tools, which knows nothing of Lyceum but the address of its model, and an environment
// that rewards its answers. shop-agent.yaml trains the model of the agent.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { callMessage, defineEnvironment, type EnvironmentDefinition, type Message, textOf } from "lyceum";
import type { AgentCall } from "lyceum/server";
import { z } from "zod";

type Goods = Record<string, number>;
const prices: Goods = { tea: 3, jam: 4, egg: 1, oil: 5, fig: 2, ham: 9, rye: 6, nut: 7 };
const lines = Object.keys(prices).flatMap((item) => [..."123456789"].map((n): Goods => ({ [item]: Number(n) })));
const both = lines.flatMap((a, i) => lines.slice(i + 1).map((b) => ({ ...a, ...b })));
const orders = both.filter((order) => Object.keys(order).length === 2);
const written = (goods: Goods) => Object.entries(goods).join(" ");
const cost = (goods: Goods) => Object.entries(goods).reduce((sum, [item, n]) => sum + n * (prices[item] ?? 0), 0);

/** Asks what two goods cost. It does not see how the agent finds out. */
export const environment: EnvironmentDefinition<Goods> = defineEnvironment({
  id: "shop-orders",
  tasks: (split) => orders.filter((_, i) => (i % 5 === 2) === (split === "test")),
  reset: ({ task }) => written(task),
  step: ({ task, text }) => ({ reward: text === `${cost(task)}` ? 1 : 0 }),
});

/** The agent. It fills a cart, asks for the total, and answers. */
export async function agent({ baseURL, apiKey, model, messages, signal }: AgentCall): Promise<string> {
  const cart: Goods = {};
  const { text } = await generateText({
    model: createOpenAI({ baseURL, apiKey }).chat(model),
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
        execute: () => cost(cart),
      }),
    },
    stopWhen: stepCountIs(4),
    abortSignal: signal,
  });
  return text;
}

/** The answer of an expert to a model call of the agent. */
export function demonstrate({ messages }: { readonly messages: readonly Message[] }): Message | string {
  const results = messages.filter(({ role }) => role === "tool").map(textOf);
  if (results.length === 2) return results[1]!;
  if (results.length === 1) return callMessage(["total"]);
  const goods = textOf(messages.find(({ role }) => role === "user")!).split(" ");
  return callMessage(["add", Object.fromEntries(goods.map((line) => [line.slice(0, 3), Number(line.slice(4))]))]);
}
