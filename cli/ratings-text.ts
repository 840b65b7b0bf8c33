import { join } from "node:path";
import { formatPercent } from "../src/core/text/format-numbers.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import type { Ratings } from "../src/evaluation/ratings/rate-runs.ts";

/** Returns ratings as text: a line for each player, the strongest first, then a line for each pair. */
export function ratingsText({ name, players, pairs }: Ratings, folder: string): string {
  const width = Math.max(...players.map(({ model }) => model.length));
  const lines = [
    `${name}: ${players.length} players, ${pairs.reduce((total, { games }) => total + games, 0)} games`,
    ...players.map(({ model, rating, interval, wins, draws, losses }) => {
      const range =
        interval === undefined ? "" : `  95 % ${interval.low.toFixed(0)} to ${interval.high.toFixed(0)} (bootstrap)`;
      return `  ${model.padEnd(width)}  ${rating.toFixed(0)}${range}  ${wins} won, ${draws} drawn, ${losses} lost`;
    }),
    ...pairs.map(({ first, second, wins, draws, losses, score, expected, unscored }) => {
      const share = score === null ? "no game" : `${formatPercent(score)}, expected ${formatPercent(expected)}`;
      const unknown = unscored === 0 ? "" : `, ${unscored} unscored`;
      return `  ${first} against ${second}: ${wins} won, ${draws} drawn, ${losses} lost${unknown} (${share})`;
    }),
    `  ${join(folder, "ratings.json")}`,
  ];
  return `${visibleText(lines.join("\n"))}\n`;
}
