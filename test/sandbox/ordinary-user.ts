import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ExecuteResult, Sandbox, SandboxInfo, SandboxStats } from "../../sandbox/index.ts";

const nobody = 65_534;

/** Opens a sandbox in a separate process whose user is not root. Rejects if that is not possible. */
export async function openAsOrdinaryUser(backend: "bubblewrap" | "isolated-vm"): Promise<Sandbox> {
  const program = fileURLToPath(new URL("ordinary-user-program.ts", import.meta.url));
  const child = fork(program, [backend], {
    uid: nobody,
    gid: nobody,
    env: { PATH: process.env.PATH, HOME: "/tmp" },
    cwd: "/",
    stdio: ["ignore", "inherit", "pipe", "ipc"],
  });
  let stderrText = "";
  child.stderr!.on("data", (text: Buffer) => {
    stderrText = (stderrText + text.toString()).slice(-500);
  });
  const exited = once(child, "exit").then(() => Promise.reject(new Error(`It ended. ${stderrText}`)));
  exited.catch(() => undefined);
  const [first] = (await Promise.race([once(child, "message"), exited])) as [
    { readonly info: SandboxInfo; readonly stats: SandboxStats },
  ];
  let { stats } = first;
  const waiting = new Map<number, (result: ExecuteResult) => void>();
  child.on("message", (message: { number: number; result: ExecuteResult; stats: SandboxStats }) => {
    stats = message.stats;
    waiting.get(message.number)!(message.result);
    waiting.delete(message.number);
  });
  let number = 0;
  return {
    specificationVersion: "v1",
    info: first.info,
    execute: (request) => {
      const answer = new Promise<ExecuteResult>((resolve) => waiting.set(++number, resolve));
      child.send({ number, request });
      return Promise.race([answer, exited]);
    },
    warmUp: async () => undefined,
    stats: () => stats,
    [Symbol.asyncDispose]: async () => {
      child.disconnect();
      await exited.catch(() => undefined);
    },
  };
}
