import { spawn } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tinyRunFolder } from "../cli/run-lyceum.ts";

const main = join(import.meta.dirname, "../../cli/main.ts");

/** Limits the processor time of all processes that are added, in percent of one processor. */
interface Quota {
  /** Writing a process id adds the process. */
  readonly processes: string;
}

/** Creates a control group. Returns undefined, with a message, if this user cannot. */
function quota(percent: number): Quota | undefined {
  const unified = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const group = join(unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", `lyceum-starved-${process.pid}-${percent}`);
  try {
    mkdirSync(group);
    onTestFinished(() => rmdirSync(group));
    if (unified) writeFileSync(join(group, "cpu.max"), `${percent * 1_000} 100000`);
    else writeFileSync(join(group, "cpu.cfs_quota_us"), String(percent * 1_000));
    return { processes: join(group, "cgroup.procs") };
  } catch (error) {
    console.warn(`Skipped, because control groups are not writable: ${(error as Error).message}`);
    return undefined;
  }
}

/** Runs a command within a quota. Sends SIGTERM when stderr contains `until`. */
async function starved(args: readonly string[], given: Quota, folder: string, until?: RegExp) {
  const enter = 'echo $$ > "$0" && exec "$@"';
  const child = spawn("sh", ["-c", enter, given.processes, process.execPath, main, ...args], {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    if (until?.test(stderr)) child.kill("SIGTERM");
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once("close", (...ended) => resolve(ended));
  });
  return { code, signal, stderr };
}

const commands = [
  { args: ["train", "--config", "tiny.yaml", "--set", "training.steps=many"], says: /^error\[config.invalid\]: --set/ },
  { args: ["check", "./missing.ts"], says: /^error\[data.not-found\]/ },
  { args: ["eval", "-e", "math", "-m", "scripted:missing.json"], says: /^error\[data.not-found\]/ },
] as const;

test.each(commands)("with 3 % of a processor, $args.0 prints its error and nothing else", async ({ args, says }) => {
  const folder = await tinyRunFolder();
  const given = quota(3);
  if (given === undefined) return;
  const { code, stderr } = await starved(args, given, folder);
  expect(code).toBe(2);
  expect(stderr).toMatch(says);
  expect(stderr).not.toMatch(/warning|Super constructor|busy/);
});

test("with 10 % of a processor, healthy code is not blamed, and code that blocks is", async () => {
  const folder = await tinyRunFolder();
  const given = quota(10);
  if (given === undefined) return;
  const index = new URL("../../src/index.ts", import.meta.url).href;
  const module = (step: string): string =>
    `import { defineEnvironment } from ${JSON.stringify(index)};\n` +
    `export const environment = defineEnvironment({ id: "e", tasks: ["a"], reset: () => "Say a.", step: () => { ${step} } });`;
  writeFileSync(join(folder, "healthy.mjs"), module("return { reward: 1 };"));
  writeFileSync(join(folder, "endless.mjs"), module("for (;;);"));
  const healthy = await starved(["check", "./healthy.mjs"], given, folder);
  expect(healthy.stderr).not.toContain("busy");
  const endless = await starved(["check", "./endless.mjs"], given, folder, /Ctrl-C ends/);
  expect(endless).toMatchObject({ code: null, signal: "SIGKILL" });
  expect(endless.stderr).toMatch(/^warning: environment "e", step has kept/);
});
