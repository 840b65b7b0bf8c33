import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { classCompletionEnvironment } from "../../../environments/class-completion/class-completion.ts";
import { type Episode, type Policy, rolloutEpisode, scriptedPolicy, textOf } from "../../../src/index.ts";
import { turnMetrics } from "../../../trainers/metrics/turn-metrics.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { boxClass } from "../box-class.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const put = "def put(self, item):\n    self.items.append(item)\n    return len(self.items)\n";
const wrongPut = "def put(self, item):\n    self.items.append(item)\n";
const total = "def total(self):\n    return sum(self.items)\n";

/** Two agents. The first is wrong at first. In the second turn, each sends the expert's edit or its own code again. */
async function play(
  expert: Policy,
  first: Readonly<Record<string, string>>,
): Promise<{ episode: Episode; heard: Record<string, string> }> {
  const folder = temporaryFolder();
  await writeFile(join(folder, "own.json"), JSON.stringify([boxClass]));
  const environment = classCompletionEnvironment(
    { path: join(folder, "own.json"), sandbox: pythonSandbox, agents: 2, maxTurns: 2, mode: "expert_edits" },
    { policies: { expert } },
  );
  const heard: Record<string, string> = {};
  const policies = scriptedPolicy(({ agent, messages, episode }) => {
    if (episode!.turn === 0) return block(first[agent]!);
    const text = textOf(messages.at(-1)!);
    heard[agent] = text;
    const edited = /An expert edited your code:\n\n```python\n([\s\S]*?)```/.exec(text)?.[1];
    return block(edited ?? first[agent]!);
  });
  const task = await (await environment.tasks("test")).get(0);
  return { episode: await rolloutEpisode({ environment, task, policies, seed: 1 }), heard };
}

it("an expert edits each agent's methods, and sees the others' code and no hidden test", async () => {
  const asked: string[] = [];
  const expert = scriptedPolicy(({ messages }) => {
    const text = textOf(messages[0]!);
    asked.push(text);
    return block(text.includes("Correct `put`") ? put : total);
  });
  const { episode, heard } = await play(expert, { "agent-1": wrongPut, "agent-2": total });
  expect(asked).toHaveLength(2);
  expect(turnMetrics([episode])["rollout/turn-1/expertFailed"]).toBe(0);
  for (const text of asked) {
    expect(text).toContain("class Box:");
    expect(text).toContain("self.assertEqual(Box().put(3), 1)");
    expect(text).toContain(wrongPut.trim());
    expect(text).toContain(total.trim());
    expect(text).not.toMatch(/8181|919[12]/);
  }
  expect(heard["agent-1"]).not.toContain("def total");
  expect(heard["agent-2"]).not.toContain("def put");
  for (const { reward } of Object.values(episode.agents)) expect(reward).toMatchObject({ status: "scored", value: 1 });
});

it("an expert also gets code that does not parse", async () => {
  const expert = scriptedPolicy(({ messages }) => block(textOf(messages[0]!).includes("Correct `put`") ? put : total));
  const { episode } = await play(expert, { "agent-1": "def put(self, item:\n", "agent-2": total });
  for (const { reward } of Object.values(episode.agents)) expect(reward).toMatchObject({ status: "scored", value: 1 });
});

it("a failure of the expert is shown to the agent and does not change the reward", async () => {
  const broken = scriptedPolicy(() => {
    throw new Error("quota used up");
  });
  const alone = await play(scriptedPolicy(["   "]), { "agent-1": wrongPut, "agent-2": total });
  const { episode, heard } = await play(broken, { "agent-1": wrongPut, "agent-2": total });
  expect(heard["agent-1"]).toContain("The expert could not be asked: quota used up");
  expect(episode.status).toBe("completed");
  expect(turnMetrics([episode])["rollout/turn-1/expertFailed"]).toBe(1);
  const rewards = Object.values(episode.agents).map(({ reward }) => reward);
  expect(rewards).toMatchObject([{ status: "scored" }, { status: "scored" }]);
  expect(rewards).toEqual(Object.values(alone.episode.agents).map(({ reward }) => reward));
});
