import Docker from "dockerode";
import { describe, expect, test } from "vitest";
import { ownerLabel } from "../../sandbox/docker/container.ts";
import { createDockerJavaScriptSandbox } from "../../sandbox/docker/create-docker-javascript-sandbox.ts";
import { currentOwner } from "../../sandbox/docker/owner.ts";
import { createSandbox } from "../../sandbox/index.ts";
import { sampleOf } from "../tier.ts";
import { describeSandbox } from "./describe-sandbox.ts";
import { missingRequirement } from "./docker-javascript.ts";
import { describeAdversaries } from "./isolated-vm-adversaries.ts";
import { callsOf, float, runJavaScript } from "./isolated-vm-sandbox.ts";

const name = "docker (javascript)";
const open = createDockerJavaScriptSandbox;
const missing = await missingRequirement();

describeSandbox({ name, open, languages: sampleOf(["javascript", "typescript"] as const, 2), missing });
describeAdversaries({ name, engine: 1, open, pids: async () => (await containers()).map(({ pid }) => pid), missing });

describe.skipIf(missing !== undefined)(`containers of ${name}`, () => {
  const same = "function f(x) { return x; }";

  test("are the choice of createSandbox with auto for both languages", async () => {
    for (const language of ["javascript", "typescript"] as const) {
      await using sandbox = await createSandbox({ language, workers: 1 });
      expect(sandbox.info).toMatchObject({ backend: "docker", languages: ["javascript", "typescript"] });
      expect(sandbox.info.version).toMatch(/isolated-vm \d+\.\d+\.\d+, V8 \d/);
    }
  });

  test("have no network, root, capabilities or writable files", async () => {
    await using sandbox = await open({ workers: 1 });
    await sandbox.warmUp();
    const docker = new Docker();
    const [only] = await containers();
    const { HostConfig, Config } = await docker.getContainer(only!.id).inspect();
    expect(Config.User).toBe("65534:65534");
    expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, NetworkMode: "none", CapDrop: ["ALL"], CapAdd: [] });
    expect(HostConfig.SecurityOpt).toContain("no-new-privileges");
  });

  test("are replaced if they are removed while idle, and end with the sandbox", async () => {
    const docker = new Docker();
    {
      await using sandbox = await open({ workers: 1 });
      expect((await runJavaScript(sandbox, same, callsOf("f", [float(1)]))).status).toBe("ok");
      const [first] = await containers();
      await docker.getContainer(first!.id).remove({ force: true });
      await expect.poll(async () => (await containers()).length).toBe(0);
      expect((await runJavaScript(sandbox, same, callsOf("f", [float(1)]))).status).toBe("ok");
    }
    expect(await containers()).toEqual([]);
  });

  test("fail the job if they run out of memory, not the sandbox", async () => {
    await using sandbox = await open({ workers: 1, container: { memoryMb: 128 } });
    const code = "function f() { for (const all = []; ; ) all.push(new Uint8Array(2 ** 24).fill(1)); }";
    const limits = { memoryMb: 4_000 };
    const result = await runJavaScript(sandbox, code, callsOf("f", []), { limits });
    expect(result).toMatchObject({ status: "memory", attempts: 1 });
    expect((await runJavaScript(sandbox, same, callsOf("f", [float(1)]))).status).toBe("ok");
  });

  test("rejects with sandbox.unavailable and instructions if the image is missing", async () => {
    await expect(open({ image: "lyceum-no-such-image" })).rejects.toMatchObject({
      code: "sandbox.unavailable",
      hint: expect.stringContaining("docker build -t lyceum-no-such-image sandbox/docker/javascript"),
    });
  });
});

/** The containers that this process started. */
async function containers(): Promise<{ readonly id: string; readonly pid: number }[]> {
  const docker = new Docker();
  const filters = { label: [`${ownerLabel}=${JSON.stringify(currentOwner())}`], status: ["running"] };
  const listed = await docker.listContainers({ filters });
  const found = await Promise.allSettled(listed.map(({ Id }) => docker.getContainer(Id).inspect()));
  return found.flatMap((each) =>
    each.status === "fulfilled" ? [{ id: each.value.Id, pid: each.value.State.Pid }] : [],
  );
}
