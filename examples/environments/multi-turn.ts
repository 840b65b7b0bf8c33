/*
 * An environment with several turns: guess a number between 1 and 100. Each answer says if the number is higher or
 * lower. The state stores what an episode must remember. The player here is a program. A model can play in the same
 * way.
 *
 *   npm run example examples/environments/multi-turn.ts
 */
import { defineEnvironment, generatedTaskset, type Policy, rolloutEpisode, scriptedPolicy, textOf } from "lyceum";

const maxTurns = 8;

const environment = defineEnvironment<number, { guesses: number[] }>({
  id: "guess-the-number",
  maxTurns,
  tasks: generatedTaskset({
    name: "numbers",
    seed: 1,
    length: 1000,
    generate: (random) => random.integer(1, 100),
  }),
  reset: () => ({
    prompt: "I think of a number between 1 and 100. Answer with a guess, in digits.",
    state: { guesses: [] },
  }),
  step: ({ task, state, text, turn }) => {
    const guess = Number.parseInt(text, 10);
    state.guesses.push(guess);
    const info = { guesses: state.guesses };
    if (guess === task) return { reward: 1 - turn / maxTurns, info };
    if (turn + 1 === maxTurns) return { reward: 0, info };
    return { reply: Number.isNaN(guess) ? "That is no number." : task > guess ? "Higher." : "Lower.", info };
  },
});

/** Halves the remaining range with each guess. */
const bisection: Policy = scriptedPolicy(
  ({ messages }) => {
    let low = 1;
    let high = 100;
    for (const [i, message] of messages.entries()) {
      if (message.role !== "assistant") continue;
      const guess = Number(textOf(message));
      if (textOf(messages[i + 1]!) === "Higher.") low = guess + 1;
      else high = guess - 1;
    }
    return String(Math.floor((low + high) / 2));
  },
  { name: "bisection" },
);

const tasks = await environment.tasks("train");
for (let i = 0; i < 3; i++) {
  const episode = await rolloutEpisode({ environment, task: await tasks.get(i), policies: bisection, seed: i });
  const { nodes, reward } = episode.agents.agent!;
  console.log(
    `\nepisode ${i}: ${episode.turns} turns, ${reward.status === "scored" ? `reward ${reward.value}` : reward.reason}`,
  );
  for (const { message } of nodes) console.log(`  ${message.role}: ${textOf(message)}`);
}
