import { LyceumError } from "../../contract/errors/index.ts";
import { readEntries, readManifest, readTaskLines } from "../log/read-log.ts";
import { matchScore } from "../metrics/match-score.ts";
import { taskResults } from "../metrics/task-results.ts";
import type { PlannedLine } from "../task-plan.ts";

/** The games between two models in one run. */
export interface Matches {
  /** The name of the benchmark or environment. */
  readonly name: string;
  readonly models: readonly [first: string, second: string];
  /** The first model's points in each scored game, by task: 1, 0.5 or 0. The key has the hash of the task. */
  readonly scores: ReadonlyMap<string, readonly number[]>;
  /** The number of games without a score. */
  readonly unscored: number;
}

/**
 * Reads the games of an evaluation. Throws like `readManifest`, and `config.invalid` if it does not have exactly two
 * models.
 */
export async function readMatches(folder: string): Promise<Matches> {
  const { name, samples, spec, identity } = await readManifest(folder);
  const { models, rotated = false } = identity;
  const { agents } = spec;
  const [first, second] = agents.map((agent) => models[agent]!);
  if (agents.length !== 2 || first === undefined || second === undefined || first === second) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The run in ${folder} is not a match between two models.`,
      hint: "Ratings need runs with an opponent: lyceum eval debate --model ... --opponent ...",
      data: { folder },
    });
  }
  const tasks: PlannedLine[] = [];
  for await (const { task: _, ...line } of readTaskLines(folder)) tasks.push(line);
  const scores = new Map<string, readonly number[]>();
  let unscored = 0;
  const seen = new Map<string, number>();
  for (const { task, played, scored } of taskResults(tasks, { samples, entries: await readEntries(folder) })) {
    const times = seen.get(task.hash) ?? 0;
    seen.set(task.hash, times + 1);
    const known = scored.flatMap((entry) => matchScore(entry, { agents, rotated }) ?? []);
    scores.set(`${task.hash} ${times}`, known);
    unscored += played.length - known.length;
  }
  return { name, models: [first, second], scores, unscored };
}
