import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import Docker from "dockerode";
import { extract } from "tar-stream";
import { describe, expect, test, vi } from "vitest";
import { harborEnvironment } from "../../../environments/index.ts";
import { ownerLabel } from "../../../sandbox/docker/container.ts";
import { removeOrphans } from "../../../sandbox/docker/orphans.ts";
import { currentOwner } from "../../../sandbox/docker/owner.ts";
import type { Reward } from "../../../src/contract/reward.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../../src/core/rollout/environment-pool.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { callMessage } from "../../../src/core/tools/call-message.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { missing, plainTest, writeTask } from "./harbor-tasks.ts";
import { play, rewardOf, solved } from "./play-task.ts";

const docker = new Docker();

async function left(): Promise<{ containers: number; images: number }> {
  const filters = { label: [`${ownerLabel}=${JSON.stringify(currentOwner())}`] };
  const containers = await docker.listContainers({ all: true, filters });
  const images = await docker.listImages({ filters });
  return { containers: containers.length, images: images.length };
}

const judge = "printf '#!/bin/sh\\necho 1 > /logs/verifier/reward.txt; echo 42'";

/** Ways to a reward without the answer, as commands of the agent. */
const attacks: Readonly<Record<string, string>> = {
  "a background process": "(while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; done) & true",
  "a replaced shell and a replaced program": `${judge} > /tmp/b; chmod 755 /tmp/b; cp /tmp/b /tmp/c; mv /tmp/c /bin/cat; mv /tmp/b /bin/bash`,
  "a link for the folder": "mkdir -p /logs /app/v; ln -s /app/v /logs/verifier; echo 1 > /app/v/reward.json",
  "a link for the logs": "mkdir -p /app/v/verifier; ln -s /app/v /logs; echo 1 > /app/v/verifier/reward.json",
  "a reward beforehand and a start file":
    "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.json; echo 'echo 1 > /logs/verifier/reward.json' > /root/.bashrc; cp /root/.bashrc /root/.profile",
  "a link for the tests": "ln -s /app /tests",
};

describe.skipIf(missing !== undefined)(`Harbor tasks ${missing ?? ""}`, { timeout: 60_000 }, () => {
  test("the solution earns the highest reward, an idle agent the lowest, and nothing is left behind", async () => {
    const environment = harborEnvironment({ path: writeTask() });
    const task = await (await environment.tasks("test")).get(0);
    {
      await using pool = new EnvironmentPool(environment);
      const rewardBy = async (policies: Parameters<typeof rolloutEpisode>[0]["policies"]): Promise<Reward> =>
        (await rolloutEpisode({ environment: pool, task, policies, seed: 1 })).agents.agent!.reward;
      expect(await rewardBy(demonstrationPolicy({ environment }))).toMatchObject({
        value: 1,
        components: { reward: 1 },
      });
      expect(await rewardBy(scriptedPolicy(["I do not know."]))).toMatchObject({ status: "scored", value: 0 });
      expect((await left()).images).toBe(1);
    }
    expect(await left()).toEqual({ containers: 0, images: 0 });
  });

  test("passes the conformance suite", async () => {
    const { problems } = await checkEnvironment(harborEnvironment({ path: writeTask() }), { tasks: 1, episodes: 1 });
    expect(problems).toEqual([]);
  });

  test("the tests see the agent's changes: new, changed and deleted files and folders", async () => {
    const reward = await rewardOf(
      ["mkdir -p /app/a/b /data; echo x > /app/a/b/c; rm /app/start.txt; ln -s c /app/a/b/l"],
      {
        "tests/test.sh": `#!/bin/bash
[ "$(cat /app/a/b/l)" = x ] && [ ! -e /app/start.txt ] && [ -d /data ] && echo 1 > /logs/verifier/reward.txt`,
      },
    );
    expect(reward).toMatchObject({ value: 1 });
  });

  test("reward.json has the components, also from tests with the line ends of Windows", async () => {
    const files = {
      "tests/test.sh": "#!/bin/bash\r\nbash /tests/write.sh\r\n",
      "tests/write.sh": `echo '{"reward": 0.5, "style": 0.25}' > /logs/verifier/reward.json\r\n`,
    };
    expect(await rewardOf([], files)).toMatchObject({ value: 0.5, components: { reward: 0.5, style: 0.25 } });
  });

  test("an agent cannot write its reward or change the tests", async () => {
    const environment = harborEnvironment({ path: writeTask() });
    const task = await (await environment.tasks("test")).get(0);
    await using pool = new EnvironmentPool(environment);
    const earned = await Promise.all(
      Object.entries(attacks).map(async ([name, command]) => {
        const policies = scriptedPolicy([callMessage(["bash", { command }]), "Done."]);
        const episode = await rolloutEpisode({ environment: pool, task, policies, seed: 1 });
        const { reward } = episode.agents.agent!;
        return [name, reward.status === "scored" ? reward.value : reward.reason];
      }),
    );
    expect(Object.fromEntries(earned)).toEqual(Object.fromEntries(Object.keys(attacks).map((name) => [name, 0])));
  });

  test("an agent cannot replace programs of the verifier or of the tests in a folder of the image's PATH", async () => {
    const files = { "environment/Dockerfile": "FROM lyceum-shell\nENV PATH=/app/bin:/usr/bin:/bin\n" };
    const place = (program: string): string => `; /bin/cp /app/p /app/bin/${program}`;
    const replaced = `mkdir -p /app/bin; ${judge} > /app/p; /bin/chmod 755 /app/p`;
    const reward = await rewardOf([replaced + ["bash", "chmod", "rm", "cat"].map(place).join("")], files);
    expect(reward).toMatchObject({ status: "scored", value: 0 });
  });

  test.each([
    ["a huge file", "head -c 100000000 /dev/zero > /logs/verifier/reward.txt"],
    ["a link", "echo 1 > /tmp/one; ln -s /tmp/one /logs/verifier/reward.txt"],
  ])("tests that write %s give the lowest reward, with a reason", async (_, command) => {
    const reward = await rewardOf([], { "tests/test.sh": `#!/bin/bash\n${command}\n` });
    expect(reward, JSON.stringify(reward)).toMatchObject({
      status: "scored",
      value: 0,
      failure: { name: "VerifierFailure" },
    });
  });

  test("the limits stop commands, tests and files, and count as the agent's failures", async () => {
    const warning = vi.spyOn(process, "emitWarning").mockReturnValue();
    const slow = await play(["sleep 60", solved], {}, { commandSeconds: 1 });
    // Of artifacts that are not kept: there are none.
    expect(warning).not.toHaveBeenCalled();
    warning.mockRestore();
    expect(slow.agents.agent!.reward).toMatchObject({ value: 1 });
    expect(JSON.stringify(slow)).toContain("took too long");
    const [endless, large, late] = await Promise.all([
      rewardOf([], { "tests/test.sh": "#!/bin/bash\nsleep 60", "task.toml": "[verifier]\ntimeout_sec = 1" }),
      rewardOf(["head -c 3000000 /dev/zero > /app/zeros", solved], {
        "task.toml": '[environment]\nstorage = "1M"',
      }),
      rewardOf(["sleep 60", solved], { "task.toml": "[agent]\ntimeout_sec = 1" }),
    ]);
    expect(endless).toMatchObject({ value: 0, failure: { message: "The tests took longer than 1 s." } });
    expect(large).toMatchObject({ value: 0, failure: { message: "The changed files are too large." } });
    expect(late, JSON.stringify(late)).toMatchObject({ status: "scored", value: 0 });
  });

  test("memory, processes and the network are limited", async () => {
    const files = { "task.toml": "[environment]\nmemory_mb = 64" };
    const hungry = "python3 -c 'x = bytearray(500_000_000)' && echo 42 > /app/answer.txt";
    expect(await rewardOf([hungry], files)).toMatchObject({ value: 0 });
    // The number of network interfaces.
    const online = `python3 -c 'import socket; print(len(socket.if_nameindex()))' > /app/answer.txt`;
    const interfaces = (count: number) => ({
      "tests/test.sh": `${plainTest.replace("42", String(count))}
[ $(python3 -c 'import socket; print(len(socket.if_nameindex()))') = ${count} ] || echo 0 > /logs/verifier/reward.txt\n`,
    });
    const off = { "task.toml": '[environment]\nnetwork_mode = "no-network"' };
    expect(await rewardOf([online], { ...interfaces(1), ...off })).toMatchObject({ value: 1 });
    expect(await rewardOf([online], interfaces(1), { network: false })).toMatchObject({ value: 1 });
    // An engine without a bridge cannot give a network.
    const hasBridge = (await docker.listNetworks()).some(({ Driver }) => Driver === "bridge");
    if (hasBridge) expect(await rewardOf([online], interfaces(2))).toMatchObject({ value: 1 });
  });

  test("tests that cannot install what they need leave the episode unscored", async () => {
    const failure = "Temporary failure resolving 'packages.example'";
    const files = { "tests/test.sh": `#!/bin/bash\necho "${failure}"; echo 0 > /logs/verifier/reward.txt\n` };
    const reward = await rewardOf([solved], files, { network: false });
    expect(reward).toMatchObject({ status: "unscored", reason: expect.stringContaining(failure) });
  });

  test("a health check, skills and a separate verifier work together", async () => {
    const files = {
      "task.toml": `artifacts = ["/app/answer.txt"]
[verifier]
environment_mode = "separate"
[environment]
skills_dir = "/app"
[environment.healthcheck]
command = "echo x >> /tried; [ $(wc -l < /tried) = 2 ]"
interval_sec = 0.05`,
      "environment/Dockerfile": "FROM lyceum-shell\nCOPY SKILL.md /app/a/SKILL.md\n",
      "environment/SKILL.md": "---\nname: pdf\ndescription: Reads PDFs.\n---\nBody",
      "tests/test.sh": `#!/bin/bash
[ "$(cat /app/answer.txt)" = 42 ] && [ ! -e /app/other ] && echo 1 > /logs/verifier/reward.txt`,
    };
    const episode = await play([`${solved}; touch /app/other`], files);
    expect(episode.agents.agent!.reward).toMatchObject({ value: 1 });
    expect(JSON.stringify(episode)).toContain("- /app/a/SKILL.md (pdf: Reads PDFs.)");
  });

  describe("files in /logs/artifacts", () => {
    const tests = `#!/bin/bash
mkdir -p /logs/artifacts/of; echo tests > /logs/artifacts/of/tests.txt
[ "$(cat /logs/artifacts/agent.txt)" = agent ] && [ ! -e /logs/other ] && echo 1 > /logs/verifier/reward.txt`;
    const commands = ["echo agent > /logs/artifacts/agent.txt; echo 1 > /logs/other"];

    test.each(["shared", "separate"])("reach a %s verifier, and are kept", async (mode) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-artifacts-"));
      const files = { "tests/test.sh": tests, "task.toml": `[verifier]\nenvironment_mode = "${mode}"` };
      const { agents, info } = await play(commands, files, { artifacts: join(folder.path, "new") });
      expect(agents.agent!.reward).toMatchObject({ value: 1 });
      const [file] = await readdir(join(folder.path, "new"));
      expect(JSON.stringify(info)).toContain(JSON.stringify(join(folder.path, "new", file!)));
      const entries = new Map<string, string>();
      const archive = createReadStream(join(folder.path, "new", file!)).pipe(extract());
      for await (const entry of archive) entries.set(entry.header.name, await text(entry));
      expect(entries.get("artifacts/agent.txt")).toBe("agent\n");
      expect(entries.get("artifacts/of/tests.txt")).toBe("tests\n");
    });

    test("are named in a warning if they are not kept", async () => {
      const warning = vi.spyOn(process, "emitWarning").mockReturnValue();
      const unkept = await play(commands, { "tests/test.sh": tests });
      expect(JSON.stringify(unkept)).toContain("not kept: set the option artifacts");
      expect(warning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("/logs/artifacts"), expect.anything());
      warning.mockRestore();
    });

    test("lead nowhere by links, and cannot fill the disk", async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-artifacts-"));
      const linked = "rm -r /logs/artifacts; ln -s /logs/verifier /logs/artifacts";
      const forges = "#!/bin/bash\necho 1 > /logs/artifacts/reward.txt";
      const reward = await rewardOf([linked], { "tests/test.sh": forges });
      expect(reward).toMatchObject({ value: 0, failure: expect.anything() });
      const large = "#!/bin/bash\nhead -c 3000000 /dev/zero > /logs/artifacts/x; echo 1 > /logs/verifier/reward.txt";
      const files = { "tests/test.sh": large, "task.toml": "[environment]\nstorage_mb = 1" };
      const episode = await play([], files, { artifacts: folder.path });
      expect(episode.agents.agent!.reward).toMatchObject({ value: 1 });
      expect(JSON.stringify(episode)).toContain("has more than 1048576 bytes");
      expect(await readdir(folder.path)).toEqual([]);
    });
  });

  test("a build that fails leaves the episode unscored", async () => {
    const episode = await play([], { "environment/Dockerfile": "FROM lyceum-shell\nRUN exit 3\n" });
    expect(episode.agents.agent!.reward.status).toBe("unscored");
    expect(await left()).toEqual({ containers: 0, images: 0 });
  });

  test.each(["build", "command"])("an episode that is aborted during its %s leaves nothing behind", async (what) => {
    const environment = harborEnvironment({ path: writeTask() });
    const task = await (await environment.tasks("test")).get(0);
    const stop = new AbortController();
    {
      await using pool = new EnvironmentPool(environment);
      const policies = scriptedPolicy(() => callMessage(["bash", { command: "sleep 60" }]));
      const playing = rolloutEpisode({ environment: pool, task, policies, seed: 1, signal: stop.signal });
      if (what === "command") {
        const top = async (): Promise<string> => {
          const [container] = await docker.listContainers({ filters: { label: [ownerLabel], status: ["running"] } });
          return container === undefined ? "" : JSON.stringify(await docker.getContainer(container.Id).top());
        };
        await expect.poll(top, { timeout: 20_000 }).toContain("sleep 60");
      } else {
        await expect.poll(async () => (await left()).containers, { timeout: 20_000, interval: 10 }).toBe(1);
      }
      stop.abort();
      await playing.catch(() => undefined);
    }
    expect(await left()).toEqual({ containers: 0, images: 0 });
  });

  test("what a killed process leaves behind is removed by the next one", async () => {
    const program = join(import.meta.dirname, "killed-program.ts");
    const child = spawn(process.execPath, [program, writeTask()], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    const owned = async (): Promise<number> => {
      const filters = { label: [ownerLabel] };
      const all = [...(await docker.listContainers({ all: true, filters })), ...(await docker.listImages({ filters }))];
      return all.filter(({ Labels }) => (JSON.parse(Labels[ownerLabel]!) as { pid: number }).pid === child.pid).length;
    };
    expect(await owned()).toBe(2);
    await removeOrphans(docker);
    expect(await owned()).toBe(0);
  });
});
