// A policy with an option, in a file that a command or a config names. It plays number-guessing: it halves the numbers
// that are left, and makes a random guess in a share of its turns.
//
//   npm run example cli/main.ts eval --env number-guessing --limit 10 --model examples/agents/halving-player.ts -M careless=0.5
//
// If Lyceum is installed as a package: lyceum eval --env number-guessing --limit 10 --model ./halving-player.ts
import { createRandom, scriptedPolicy, textOf } from "lyceum";
import { definePolicy, type PolicyDefinition } from "lyceum/policies";
import { z } from "zod";

export const policy: PolicyDefinition = definePolicy({
  id: "halving-player",
  description: "Halves the numbers that are left in number-guessing.",
  options: z.object({
    careless: z.number().min(0).max(1).default(0).describe("The share of the turns with a random guess."),
  }),
  open: ({ careless }, { name = "halving-player" }) =>
    scriptedPolicy(
      ({ messages, seed }) => {
        let low = 1;
        let high = 100;
        for (const message of messages) {
          const [, than, number] = /(between 1 and|higher than|lower than) (\d+)/.exec(textOf(message)) ?? [];
          if (than === "higher than") low = Number(number) + 1;
          if (than === "lower than") high = Number(number) - 1;
          if (than === "between 1 and") high = Number(number);
        }
        const random = createRandom(seed);
        const guess = random.next() < careless ? random.integer(low, high) : Math.floor((low + high) / 2);
        return `My guess is ${guess}`;
      },
      { name },
    ),
});
