// A shop with two tools that share a cart; stateful-tools.yaml trains a model in it.
import { callMessage, defineEnvironment, type EnvironmentDefinition } from "lyceum";
import { z } from "zod";

type Line = { item: string; count: number };
const prices: Record<string, number> = { tea: 3, jam: 4, egg: 1, oil: 5 };
const lines = Object.keys(prices).flatMap((item) => [1, 2, 3, 4, 5, 6].map((count) => ({ item, count })));
const orders = lines.flatMap((a) => lines.flatMap((b) => (a.item === b.item ? [] : [[a, b] as const])));
const written = (order: readonly Line[]) => order.map(({ item, count }) => `${count} ${item}`).join(", ");
const cost = (order: readonly Line[]) => order.reduce((sum, { item, count }) => sum + count * prices[item]!, 0);

export const environment: EnvironmentDefinition<readonly [Line, Line]> = defineEnvironment({
  id: "shop",
  tasks: (split) => orders.filter(([a, b]) => ((a.count + b.count) % 4 === 0) === (split === "test")),
  reset: ({ task }) => ({ messages: written(task), state: { cart: [] as Line[] } }),
  tools: {
    add: {
      description: "Puts goods into the cart.",
      inputSchema: z.object({ item: z.enum(Object.keys(prices)), count: z.int().min(1) }),
      execute: (line, { state }) => state.cart.push(line),
    },
    total: { description: "Returns what the cart costs.", execute: (_, { state }) => cost(state.cart) },
  },
  step: ({ task, state, text }) => ({
    components: { cart: written(state.cart) === written(task) ? 0.5 : 0, total: text === `${cost(task)}` ? 0.5 : 0 },
  }),
  demonstrate: (task) => [callMessage(["add", task[0]], ["add", task[1]]), callMessage(["total"]), `${cost(task)}`],
});
