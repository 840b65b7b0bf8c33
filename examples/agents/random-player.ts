// An opponent for measuring self-play. It makes a random legal move in tic-tac-toe and Kuhn poker. Configs refer to it
// as scripted:examples/agents/random-player.ts.
import { type ActRequest, createRandom, textOf } from "lyceum";

export default function randomMove({ messages, seed }: ActRequest): string {
  const prompt = textOf(messages.at(-1)!);
  const board = /(?:[1-9XO] [1-9XO] [1-9XO]\n?){3}/.exec(prompt)?.[0];
  const moves = board?.match(/\d/g) ?? prompt.match(/\b(?:check|bet|call|fold)\b(?= or |\.$)/g);
  return createRandom(seed).pick(moves!);
}
