import { join } from "node:path";
import { folderEntries, TooManyChanges, type Workspace, type Workspaces } from "../../sandbox/index.ts";
import type { Reward } from "../../src/contract/reward.ts";
import type { HarborTask } from "./harbor-task.ts";
import { failedReward, maxRewardBytes, readReward } from "./reward-file.ts";

/**
 * The folders whose changes the tests do not see: programs and libraries that the tests themselves use, the tests and
 * their verdict.
 */
const protectedFolders = [
  ...["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/boot", "/dev", "/proc", "/sys", "/run"],
  ...["/tests", "/logs", "/solution"],
] as const;

/** The result of a verification. */
export interface Verification {
  readonly reward: Reward;
  /** The last part of what the tests printed. */
  readonly output: string;
}

/**
 * Runs a task's tests on the files that the agent left, and reads the reward. The agent's processes are killed first.
 * The tests run in a new container of the task's image, which gets the agent's changes outside of the protected
 * folders, and whose processes are killed before the reward is read. Rejects with `sandbox.unavailable` if the engine
 * fails.
 */
export async function verify(options: {
  readonly task: HarborTask;
  /** The folder to which the task's path is relative. */
  readonly root: string;
  readonly image: string;
  readonly agent: Workspace;
  readonly workspaces: Workspaces;
  readonly rewardRange: readonly [minimum: number, maximum: number];
  readonly network: boolean;
  readonly signal?: AbortSignal | undefined;
}): Promise<Verification> {
  const { task, root, image, agent, workspaces, rewardRange, network, signal } = options;
  const { verifier, environment, cpus, memoryMb, storageMb, folder } = task.config;
  await agent.kill();
  await using workspace = await workspaces.create({
    image,
    limits: { cpus, memoryMb, processes: 512 },
    network: network && verifier.network,
    environment: { ...environment, PYTHONNOUSERSITE: "1" },
  });
  await workspace.start();
  try {
    await agent.copyChanges({ to: workspace, protectedFolders, maxBytes: storageMb * 2 ** 20, signal });
  } catch (error) {
    if (!(error instanceof TooManyChanges)) throw error;
    return { reward: failedReward(error.message, rewardRange), output: "" };
  }
  await workspace.add("/", verifierFolders(verifier.user));
  await workspace.add("/tests", folderEntries(join(root, task.path, "tests")));
  // Full paths: the image's PATH can begin with a folder that the agent has written.
  await workspace.run({ command: ["/bin/chmod", "755", "/tests/test.sh"], limitMs: 30_000, user: "0", signal });
  const { output, timedOut } = await workspace.run({
    command: ["/bin/bash", "-c", "/tests/test.sh"],
    limitMs: 1000 * verifier.seconds,
    environment: verifier.environment,
    user: verifier.user,
    folder,
    signal,
  });
  const lastOutput = output.slice(-2_000);
  if (timedOut) {
    return {
      reward: failedReward(`The tests took longer than ${verifier.seconds} s.`, rewardRange),
      output: lastOutput,
    };
  }
  await workspace.kill();
  const json = await workspace.read("/logs/verifier/reward.json", maxRewardBytes);
  const text = await workspace.read("/logs/verifier/reward.txt", maxRewardBytes);
  return { reward: readReward({ json, text }, rewardRange), output: lastOutput };
}

/** The folders of the tests and of their verdict. Only another user of the verifier needs others to write there. */
function verifierFolders(user: string | undefined) {
  const mode = user === undefined || user === "root" || user === "0" ? 0o700 : 0o777;
  return [
    { path: "tests", mode: 0o755, kind: "folder" },
    { path: "logs", mode: 0o755, kind: "folder" },
    { path: "logs/verifier", mode, kind: "folder" },
  ] as const;
}
