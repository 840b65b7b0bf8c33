import { describe, expect, test } from "vitest";
import { missing } from "../environments/harbor/harbor-tasks.ts";
import { play, rewardOf, solved } from "../environments/harbor/play-task.ts";

/** Keys of Harbor tasks and failures of their tests, each in several episodes. */

describe.skipIf(missing !== undefined)(`Harbor tasks ${missing ?? ""}`, { timeout: 300_000 }, () => {
  describe("tests that cannot install what they need", () => {
    const failure = "Temporary failure resolving 'packages.example'";
    const failing = (rest: string) => ({ "tests/test.sh": `#!/bin/bash\n${rest}\n` });
    const name = "E: Unable to locate package curl";

    test.each([
      ["with a verdict", `echo "${failure}"; echo 0 > /logs/verifier/reward.txt`, failure],
      ["without a verdict", `echo "${name}"; exit 100`, name],
      ["in truth", `python3 -c 'import urllib.request as u; u.urlopen("https://packages.example")'`, "resolution"],
    ])("leave the episode unscored, %s", async (_, command, reason) => {
      const reward = await rewardOf([solved], failing(command), { network: false });
      expect(reward).toMatchObject({ status: "unscored", reason: expect.stringContaining(reason) });
      expect(reward).toMatchObject({ reason: expect.stringContaining("The network of the tests is off.") });
    });

    test("are judged if the agent's files print the message", async () => {
      const runs = failing(`bash /app/code.sh; echo 0.25 > /logs/verifier/reward.txt`);
      const prints = `echo 'echo "${failure}"' > /app/code.sh`;
      expect(await rewardOf([prints], runs)).toMatchObject({ status: "scored", value: 0.25 });
    });

    test("are run again, and keep the highest reward whatever they print", async () => {
      const passed = failing(`echo "${failure}"; echo 1 > /logs/verifier/reward.txt`);
      expect(await rewardOf([], passed)).toMatchObject({ status: "scored", value: 1 });
    });
  });

  test("a separate verifier gets the artifacts only", async () => {
    const files = {
      "task.toml": 'artifacts = ["/out/deep/answer.txt"]\n[verifier]\nenvironment_mode = "separate"',
      "tests/test.sh": `#!/bin/bash
[ "$(cat /out/deep/answer.txt)" = 42 ] && [ ! -e /out/other ] && [ ! -e /app/other ] && [ -e /app/start.txt ] &&
echo 1 > /logs/verifier/reward.txt`,
    };
    const commands = [
      "mkdir -p /out/deep; echo 42 > /out/deep/answer.txt; touch /out/other /app/other; rm /app/start.txt",
    ];
    expect(await rewardOf(commands, files)).toMatchObject({ value: 1 });
    const shared = { ...files, "task.toml": "" };
    expect(await rewardOf(commands, shared)).toMatchObject({ value: 0 });
  });

  test("a health check is waited for, and one that fails leaves the episode unscored", async () => {
    const check = (command: string, more = "") => ({
      "task.toml": `[environment.healthcheck]\ncommand = "${command}"\ninterval_sec = 0.05\nretries = 3\n${more}`,
    });
    expect(await rewardOf([solved], check("echo x >> /tried; [ $(wc -l < /tried) = 3 ]"))).toMatchObject({ value: 1 });
    const starting = check(
      "echo x >> /tried; [ $(wc -l < /tried) = 6 ]",
      "start_period_sec = 60\nstart_interval_sec = 0.05",
    );
    expect(await rewardOf([solved], starting)).toMatchObject({ value: 1 });
    const failed = await rewardOf([solved], check("echo not ready; false"));
    expect(failed).toMatchObject({ status: "unscored" });
    expect(JSON.stringify(failed)).toContain("environment.healthcheck");
  });

  test("skills are named to the agent", async () => {
    const files = {
      "task.toml": '[environment]\nskills_dir = "/skills"',
      "environment/Dockerfile": "FROM lyceum-shell\nCOPY skills /skills\n",
      "environment/skills/a b/SKILL.md": "---\nname: pdf\ndescription: Reads PDFs.\n---\nBody",
      "environment/skills/c/SKILL.md": "No front matter",
    };
    const text = JSON.stringify(await play([], files));
    expect(text).toContain("- /skills/a b/SKILL.md (pdf: Reads PDFs.)\\n- /skills/c/SKILL.md");
    expect(JSON.stringify(await play([], { "task.toml": '[environment]\nskills_dir = "/none"' }))).not.toContain(
      "SKILL",
    );
  });
});
