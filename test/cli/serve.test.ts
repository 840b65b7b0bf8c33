import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { remoteEnvironment } from "lyceum/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { lyceum } from "./run-lyceum.ts";

const root = pathToFileURL(join(import.meta.dirname, "../../src/index.ts")).href;
const mine = `import { defineEnvironment } from "${root}";
export const environment = defineEnvironment({ id: "mine", tasks: ["a"], reset: () => "Say a.", step: ({ text }) => ({ reward: text === "a" ? 1 : 0 }) });
`;

async function folderWithEnvironment(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-serve-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "mine.mts"), mine);
  return folder;
}

describe("lyceum serve", () => {
  it("serves several environments until SIGTERM, and lets running episodes end", async () => {
    const folder = await folderWithEnvironment();
    const ready = Promise.withResolvers<{ url: string; end: () => void }>();
    const ended = lyceum(
      ["serve", "-e", "./mine.mts,math", "--set", "math.digits=2", "--set", "math.tasks=arithmetic"],
      {
        folder,
        onOutput: (output, child) => {
          const url = /mine, math at (http:\S+)/.exec(output)?.[1];
          if (url !== undefined) ready.resolve({ url, end: () => child.kill("SIGTERM") });
        },
      },
    );
    const { url, end } = await Promise.race([
      ready.promise,
      ended.then(({ stderr }) => Promise.reject(new Error(stderr))),
    ]);
    const math = await remoteEnvironment(`${url}/math`);
    expect(math.spec.id).toBe("math");
    const remote = await remoteEnvironment(url);
    const environment = await remote.create();
    const { task } = await (await remote.tasks("train")).get(0);
    await environment.reset({ task, seed: 0 });
    end();
    await expect.poll(async () => (await fetch(`${url}/ready`)).status).toBe(503);
    const message = { role: "assistant" as const, content: [{ type: "text" as const, text: "a" }] };
    const { agents } = await environment.step({ agent: { message, finish: "stop" } });
    expect(agents.agent?.reward).toMatchObject({ status: "scored", value: 1 });
    await environment.close();
    const { code, stdout, stderr } = await ended;
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("Waiting up to 30 s for 1 session to end");
  });

  it.each([
    [["-e", "no-such-environment"], 'Unknown environment "no-such-environment"'],
    [["-e", "math,math"], 'Two environments have the name "math"'],
    [["-e", "math,tic-tac-toe", "--set", "digits=2"], "--set digits=2 names no environment"],
    [["-e", "math", "--host", "0.0.0.0"], "the server needs a token"],
    [["-e", "math", "--tls-cert", "cert.pem"], "TLS needs a certificate and its key"],
    [["-e", "math", "--tls-cert", "cert.pem", "--tls-key", "key.pem"], "cert.pem cannot be read"],
  ])("%j is refused", async (args, reason) => {
    const { code, stderr } = await lyceum(["serve", ...args], { folder: await folderWithEnvironment() });
    expect(code).toBe(2);
    expect(stderr).toContain(reason);
  });
});
