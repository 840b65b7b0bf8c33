// A shop with two tools that share a cart. stateful-tools.yaml trains a model in it.
import { callMessage, defineEnvironment, type EnvironmentDefinition } from "lyceum";
import { z } from "zod";

type Goods = Record<string, number>;
const prices: Goods = { tea: 3, jam: 4, egg: 1, oil: 5, fig: 2, ham: 9, rye: 6, nut: 7 };
const lines = Object.keys(prices).flatMap((item) => [..."123456789"].map((n): Goods => ({ [item]: Number(n) })));
const both = lines.flatMap((a, i) => lines.slice(i + 1).map((b) => ({ ...a, ...b })));
const orders = both.filter((order) => Object.keys(order).length === 2);
const written = (goods: Goods) => Object.entries(goods).join(" ");
const cost = (goods: Goods) => Object.entries(goods).reduce((sum, [item, count]) => sum + count * prices[item]!, 0);

export const environment: EnvironmentDefinition<Goods> = defineEnvironment({
  id: "shop",
  tasks: (split) => orders.filter((_, i) => (i % 5 === 2) === (split === "test")),
  reset: ({ task }) => ({ prompt: written(task), state: { cart: {} as Goods } }),
  tools: {
    add: {
      description: "Adds goods to the cart.",
      inputSchema: z.partialRecord(z.enum(Object.keys(prices)), z.int().min(1)),
      execute: (goods, { state }) => written(Object.assign(state.cart, goods)),
    },
    total: { description: "Returns what the cart costs.", execute: (_, { state }) => cost(state.cart) },
  },
  step: ({ task, state, text }) => ({
    components: { cart: written(state.cart) === written(task) ? 0.5 : 0, total: text === `${cost(task)}` ? 0.5 : 0 },
  }),
  demonstrate: (task) => [callMessage(["add", task], ["total"]), `${cost(task)}`],
});
