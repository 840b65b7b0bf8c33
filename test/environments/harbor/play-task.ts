import { harborEnvironment } from "../../../environments/index.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import type { Message } from "../../../src/contract/message.ts";
import type { Reward } from "../../../src/contract/reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../../src/core/rollout/environment-pool.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { callMessage } from "../../../src/core/tools/call-message.ts";
import { writeTask } from "./harbor-tasks.ts";

type Files = Parameters<typeof writeTask>[0];
type Options = Parameters<typeof harborEnvironment>[0];

/** Plays commands, one a message, and then an answer, on a task with these files. */
export async function play(
  commands: readonly (string | Message)[],
  files: Files = {},
  options: Options = {},
): Promise<Episode> {
  const environment = harborEnvironment({ path: writeTask(files), ...options });
  const messages = commands.map((command) =>
    typeof command === "string" ? callMessage(["bash", { command }]) : command,
  );
  const task = await (await environment.tasks("test")).get(0);
  // Else a failed removal shows only in later tests, which count the containers and images that are left.
  const onCloseError = ({ message }: ErrorData): never => {
    throw new Error(message);
  };
  await using pool = new EnvironmentPool(environment, { onCloseError });
  const policies = scriptedPolicy([...messages, "Done."]);
  return rolloutEpisode({ environment: pool, task, policies, seed: 1 });
}

/** Returns the reward of {@link play}. */
export async function rewardOf(...parameters: Parameters<typeof play>): Promise<Reward> {
  return (await play(...parameters)).agents.agent!.reward;
}

/** The command that solves the default task. */
export const solved = "echo 42 > /app/answer.txt";
