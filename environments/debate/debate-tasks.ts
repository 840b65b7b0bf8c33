import { resolve } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { DefinitionBase } from "../../src/core/environment/define-parallel-environment.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { loadTaskset } from "../../src/core/taskset/load-taskset.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { rowSplits } from "../shared/rows/row-file.ts";
import { type DebateTopic, topicRowSchema } from "./debate-topic.ts";
import { keyWords } from "./rule-judge.ts";
import debateTopics from "./topics.json" with { type: "json" };

/** Returns the topics and their splits. One in four of the built-in topics is in the test split. */
export function debateTasks(
  path: string | undefined,
): Pick<DefinitionBase<DebateTopic, undefined>, "tasks" | "splits"> {
  if (path === undefined) {
    return {
      splits: ["train", "test"],
      tasks: (split) => debateTopics.filter((topic) => isHeldOut(topic) === (split === "test")),
    };
  }
  return {
    splits: rowSplits(path),
    tasks: async (split, { signal }) => {
      const rows = await loadTaskset({ source: resolve(path), split, schema: topicRowSchema }, { signal });
      return mapTaskset(rows, checkTopic, `debate/${split}`);
    },
  };
}

/** Returns true for a held-out topic. It depends on the proposition alone. */
function isHeldOut({ proposition }: DebateTopic): boolean {
  return Number.parseInt(contentHash(proposition).slice(0, 8), 16) % 4 === 0;
}

/**
 * Returns the topic if each key point has enough words of its own to be recognized. Throws `data.malformed` otherwise.
 */
function checkTopic(topic: DebateTopic): DebateTopic {
  for (const [side, points] of [
    ["PRO", topic.pro],
    ["CON", topic.con],
  ] as const) {
    const index = keyWords(topic, side).findIndex((words) => words.size < 2);
    if (index < 0) continue;
    throw new LyceumError({
      code: "data.malformed",
      message: `A key point has fewer than two words that are not in the proposition or background: "${points[index]}".`,
      hint: "The judge recognizes a key point by such words. Extend the key point, or shorten the background.",
    });
  }
  return topic;
}
