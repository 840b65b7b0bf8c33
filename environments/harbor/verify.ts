import { join } from "node:path";
import { TooManyChanges, type Workspace, type Workspaces } from "../../sandbox/index.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type Reward, unscored } from "../../src/contract/reward.ts";
import type { HarborTask } from "./harbor-task.ts";
import { installFailure } from "./install-failure.ts";
import { failedReward, maxRewardBytes, readReward } from "./reward-file.ts";
import { scriptEntries } from "./script-lines.ts";

/**
 * Folders of which the tests see the image's version, not the agent's: programs and libraries that the tests use, the
 * tests, and their verdict.
 */
const protectedFolders = [
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/usr",
  "/etc",
  "/boot",
  "/dev",
  "/proc",
  "/sys",
  "/run",
  "/tests",
  "/logs",
  "/solution",
] as const;

/** The folder whose files a task's agent and tests leave for people. As in Harbor, the tests see the agent's. */
export const artifactsFolder = "/logs/artifacts";

/** The result of a verification. */
export interface Verification {
  readonly reward: Reward;
  /** The last part of what the tests printed. */
  readonly output: string;
  /** The tar file with the files of {@link artifactsFolder}, or why there is none. Absent without such files. */
  readonly artifacts?: string;
}

/** What a verification needs. */
interface VerifyOptions {
  readonly task: HarborTask;
  /** The folder to which the task's path is relative. */
  readonly root: string;
  readonly image: string;
  readonly agent: Workspace;
  readonly workspaces: Workspaces;
  readonly rewardRange: readonly [minimum: number, maximum: number];
  readonly network: boolean;
  /** The file for the files of {@link artifactsFolder}. They are not kept without. */
  readonly artifactsFile: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a task's tests on the files that the agent left, and reads the reward. The agent's processes are killed first.
 * The tests run in a new container of the task's image, which gets the agent's changes outside of the protected
 * folders, and whose processes are killed before the reward is read. Tests that could not install what they need are
 * run again. If they cannot install it without the agent's changes either, the episode is unscored. Rejects with
 * `sandbox.unavailable` if the engine fails.
 */
export async function verify(options: VerifyOptions): Promise<Verification> {
  await options.agent.kill();
  const first = await runTests(options, options.agent);
  if (!couldNotInstall(first, options)) return first;
  const second = await runTests(options, options.agent);
  if (!couldNotInstall(second, options)) return second;
  // The agent's code can print a false message about an installation, so the tests run once more without it.
  const untouched = await runTests(options, undefined);
  const failure = installFailure(untouched.printed);
  if (failure === undefined) return second;
  const off = options.network && options.task.config.verifier.network ? "" : " The network of the tests is off.";
  const reason = `The tests could not install what they need: ${failure.trim().slice(0, 300)}.${off}`;
  return { ...second, reward: unscored(reason) };
}

interface TestRun extends Verification {
  /** All that the tests printed, up to a limit. */
  readonly printed: string;
}

function couldNotInstall({ reward, printed }: TestRun, { rewardRange }: VerifyOptions): boolean {
  return reward.status === "scored" && reward.value < rewardRange[1] && installFailure(printed) !== undefined;
}

/** Runs the tests once, on the changes of an agent, or on the image alone. */
async function runTests(options: VerifyOptions, agent: Workspace | undefined): Promise<TestRun> {
  const { task, root, image, workspaces, rewardRange, network, artifactsFile, signal } = options;
  const { verifier, environment, cpus, memoryMb, storageMb, folder, artifacts } = task.config;
  await using workspace = await workspaces.create({
    image,
    limits: { cpus, memoryMb, processes: 512 },
    network: network && verifier.network,
    environment: { ...environment, PYTHONNOUSERSITE: "1" },
  });
  await workspace.start();
  const folders = await programFolders(workspace, verifier.environment);
  await workspace.add("/", verifierFolders(verifier.user));
  let changed: readonly string[] = [];
  const maxBytes = storageMb * 2 ** 20;
  try {
    const copying = { to: workspace, protectedFolders, within: artifacts, open: [artifactsFolder], maxBytes, signal };
    if (agent !== undefined) changed = await agent.copyChanges(copying);
  } catch (error) {
    if (!(error instanceof TooManyChanges)) throw error;
    return { reward: failedReward(error.message, rewardRange), output: "", printed: "" };
  }
  await workspace.add("/tests", scriptEntries(join(root, task.path, "tests"), "test.sh"));
  // Full paths, because the image's PATH can begin with a folder that the agent has changed.
  await workspace.run({ command: ["/bin/chmod", "755", "/tests/test.sh"], limitMs: 30_000, user: "0", signal });
  const { output: printed, timedOut } = await workspace.run({
    command: ["/bin/bash", "-c", "/tests/test.sh"],
    limitMs: 1000 * verifier.seconds,
    environment: { ...verifier.environment, PATH: unchangedFolders(folders, changed) },
    user: verifier.user,
    folder,
    signal,
  });
  const output = printed.slice(-2_000);
  await workspace.kill();
  signal?.throwIfAborted();
  const kept = agent === undefined ? {} : await keptArtifacts(workspace, artifactsFile, maxBytes);
  if (timedOut) {
    const reward = failedReward(`The tests took longer than ${verifier.seconds} s.`, rewardRange);
    return { reward, output, printed, ...kept };
  }
  const json = await workspace.read("/logs/verifier/reward.json", maxRewardBytes);
  const text = await workspace.read("/logs/verifier/reward.txt", maxRewardBytes);
  return { reward: readReward({ json, text }, rewardRange), output, printed, ...kept };
}

async function keptArtifacts(
  workspace: Workspace,
  file: string | undefined,
  maxBytes: number,
): Promise<{ readonly artifacts?: string }> {
  const found = await workspace.keepFolder({ folder: artifactsFolder, file, maxBytes });
  if (found === "none") return {};
  const reason =
    found === "too-large"
      ? `${artifactsFolder} has more than ${maxBytes} bytes`
      : found === "files"
        ? `set the option artifacts to a folder for the files of ${artifactsFolder}`
        : found.failure;
  return { artifacts: found === "files" && file !== undefined ? file : `not kept: ${reason}` };
}

/** The folders of programs of a container that no agent has changed: as `PATH` names them, and without links. */
async function programFolders(
  workspace: Workspace,
  environment: Readonly<Record<string, string>>,
): Promise<readonly (readonly [named: string, real: string])[]> {
  const list = `IFS=:; for f in $PATH; do echo "$f"; (cd -P -- "$f" 2>/dev/null && pwd -P) || echo "$f"; done; echo end`;
  const { output } = await workspace.run({
    command: ["/bin/bash", "-c", list],
    limitMs: 30_000,
    user: "0",
    environment,
  });
  const lines = output.split("\n");
  // Else the tests would run without any program, and the agent would get their failure.
  if (lines.at(-2) !== "end") throw noFolders(output);
  return lines.slice(0, (lines.length - 2) >> 1).map((_, index) => [lines[2 * index]!, lines[2 * index + 1]!] as const);
}

/** Returns a `PATH` of the folders in which the agent has changed nothing. Relative ones are left out. */
function unchangedFolders(
  folders: readonly (readonly [named: string, real: string])[],
  changed: readonly string[],
): string {
  const isChanged = (folder: string): boolean =>
    changed.some((path) => path === folder || path.startsWith(`${folder}/`) || folder.startsWith(`${path}/`));
  const kept = folders.filter(([named, real]) => named.startsWith("/") && !isChanged(named) && !isChanged(real));
  return kept.map(([named]) => named).join(":");
}

/** The folders of the tests and of their verdict. Only another user of the verifier needs others to write there. */
function verifierFolders(user: string | undefined) {
  const mode = user === undefined || user === "root" || user === "0" ? 0o700 : 0o777;
  return [
    { path: "tests", mode: 0o755, kind: "folder" },
    { path: "logs", mode: 0o755, kind: "folder" },
    { path: "logs/verifier", mode, kind: "folder" },
    { path: artifactsFolder.slice(1), mode: 0o777, kind: "folder" },
  ] as const;
}

function noFolders(output: string): LyceumError {
  return new LyceumError({
    code: "sandbox.unavailable",
    message: `The folders of PATH could not be listed in the container of the tests: ${output.slice(-200)}`,
    hint: "Check that the image has /bin/bash, and see the engine's log.",
  });
}
