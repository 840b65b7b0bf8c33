import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bugFixEnvironment } from "../../../environments/bug-fix/bug-fix.ts";
import type { BugFixOptions } from "../../../environments/bug-fix/bug-fix-options.ts";
import { environments } from "../../../environments/index.ts";
import { type Policy, rolloutEpisode, scriptedPolicy, textOf } from "../../../src/index.ts";
import { turnMetrics } from "../../../trainers/metrics/turn-metrics.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const header = 'import math\n\n\ndef half_up(x: float) -> int:\n    """Round half up."""\n';
const tests = [
  [0.5, 1],
  [1.5, 2],
  [2.4, 2],
  [-0.5, 0],
  [7123.0, 7123],
  [7124.5, 7125],
];
const row = {
  task_id: "Own/1",
  prompt: header,
  entry_point: "half_up",
  canonical_solution: "    doubled = 2 * x + 1\n    return math.floor(doubled / 2)\n",
  buggy_solution: "    doubled = 2 * x - 1\n    return math.floor(doubled / 2)\n",
  test: `def check(candidate):\n${tests.map(([x, y]) => `    assert candidate(${x}) == ${y}\n`).join("")}`,
};
const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const right = block(header + row.canonical_solution);
const wrong = block(header + row.buggy_solution);

/** Answers wrong first, then with the expert's edit or wrong again. */
async function play(expert: Policy, options: Partial<BugFixOptions> = {}) {
  const folder = temporaryFolder();
  await writeFile(join(folder, "real.jsonl"), `${JSON.stringify(row)}\n`);
  const environment = bugFixEnvironment(
    { path: join(folder, "real.jsonl"), sandbox: pythonSandbox, maxTurns: 2, mode: "expert_edits", ...options },
    { policies: { expert } },
  );
  let heard = "";
  const policies = scriptedPolicy(({ agent, messages }) => {
    if (agent === "finder") return "It is off. Line: 6";
    heard = textOf(messages.at(-1)!);
    const edited = /An expert edited your code:\n\n(```python\n[\s\S]*?```)/.exec(heard)?.[1];
    return edited ?? wrong;
  });
  const task = await (await environment.tasks("test")).get(0);
  return { episode: await rolloutEpisode({ environment, task, policies, seed: 1 }), heard };
}

it.each([
  false,
  true,
])("an expert edits a repair that does not pass, and sees no hidden test (finder: %s)", async (finder) => {
  const asked: string[] = [];
  const expert = scriptedPolicy(({ messages }) => {
    asked.push(textOf(messages[0]!));
    return right;
  });
  const { episode } = await play(expert, { finder });
  expect(asked).toHaveLength(1);
  expect(turnMetrics([episode])[`rollout/turn-${finder ? 2 : 1}/expertFailed`]).toBe(0);
  expect(asked[0]).toContain("half_up(0.5) == 1");
  expect(asked[0]).toContain("doubled = 2 * x - 1");
  expect(asked[0]).not.toMatch(/712|2\.4/);
  const fixer = episode.agents[finder ? "fixer" : "agent"]!;
  expect(fixer.reward).toMatchObject({ status: "scored" });
  expect(fixer.reward.status === "scored" && fixer.reward.value).toBeGreaterThan(0.8);
});

it("a failure of the expert is shown to the agent and does not change the reward", async () => {
  const broken = scriptedPolicy(() => {
    throw new Error("quota used up");
  });
  const { episode, heard } = await play(broken);
  expect(heard).toContain("The expert could not be asked: quota used up");
  expect(episode).toMatchObject({ status: "completed", agents: { agent: { reward: { status: "scored" } } } });
  expect(turnMetrics([episode])["rollout/turn-1/expertFailed"]).toBe(1);
  const silent = await play(scriptedPolicy([" "]));
  expect(episode.agents.agent!.reward).toEqual(silent.episode.agents.agent!.reward);
});

it.each(["bug-fix", "class-completion", "code"])("the mode needs an expert in %s", (id) => {
  expect(() => environments.create(id, { mode: "expert_edits" })).toThrow(
    expect.objectContaining({
      code: "config.invalid",
      message: `The mode expert_edits of "${id}" needs an expert, but none is given.`,
    }),
  );
});
