import { defineEnvironment } from "lyceum";

const numbers = Array.from({ length: 90 }, (_, index) => 10 + index);
const sums = numbers.flatMap((a) => numbers.map((b) => ({ a, b, heldOut: (3 * a + b) % 11 === 0 })));

export const environment = defineEnvironment({
  id: "sums",
  tasks: (split) => sums.filter(({ heldOut }) => heldOut === (split === "test")),
  reset: ({ task }) => `${task.a}+${task.b}=`,
  step: ({ task, text }) => ({ reward: text.trim() === `${task.a + task.b}` ? 1 : 0 }),
  demonstrate: ({ a, b }) => `${a + b}`,
});
