import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runInProcess } from "./run-in-process.ts";
import { type LyceumResult, lyceum, tinyRunFolder } from "./run-lyceum.ts";

const source = (name: string): string => JSON.stringify(join(import.meta.dirname, "../../src", name));

/** Two agents who add up the numbers that they say. The second has a demonstration of two turns. */
const pair = `
import { defineParallelEnvironment } from ${source("core/environment/define-parallel-environment.ts")};
export const environment = defineParallelEnvironment({
  id: "pair", agents: ["left", "right"], maxTurns: 3, tasks: ["one", "two"], rewardRange: [0, 3],
  reset: ({ task }) => ({ left: "go left " + task, right: "go right " + task }),
  step: ({ texts, turn }) => {
    const rewards = { left: { status: "scored", value: texts.left.length / 10, components: { length: texts.left.length / 10 } },
      right: { status: "unscored", reason: "nobody looked" } };
    const heard = "left: " + texts.left.replaceAll("\\n", "|") + ", right: " + texts.right;
    return turn === 2 ? { rewards } : { rewards, replies: { left: heard, right: heard } };
  },
  demonstrate: () => [{ left: "l0", right: "r0" }, { left: "l1", right: "r1" }],
});
`;

const tools = `
import { defineParallelEnvironment } from ${source("core/environment/define-parallel-environment.ts")};
export const environment = defineParallelEnvironment({
  id: "tools", agents: ["agent"], tasks: [1], maxTurns: 2,
  tools: [{ name: "add", description: "Adds.", parameters: { type: "object" } }],
  reset: () => ({ agent: "use it \\u001b[31m" }),
  step: ({ actions: { agent }, texts, turn }) => turn === 1
    ? { rewards: { agent: 1 } }
    : { replies: { agent: JSON.stringify([texts.agent, agent.finish, agent.message.toolCalls]) } },
});
`;

let folder: string;
beforeEach(async () => {
  folder = await tinyRunFolder();
  await writeFile(join(folder, "pair.ts"), pair);
  await writeFile(join(folder, "tools.ts"), tools);
});

const play = (words: string, text: string): Promise<LyceumResult> =>
  lyceum(["play", ...words.split(" ")], { folder, input: { text } });

describe("lyceum play", () => {
  it("asks for every agent, accepts answers of several lines, and shows rewards by component", async () => {
    const { code, stdout, stderr } = await play("./pair.ts --task 1", "a\n\nb\n.\nc\n.\n.\nd\n.\ne\n.\nf");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(
      /^Type .* a single "\." sends it.*\npair: task 1 of train, seed 0\nat most 3 turns, reward from 0 to 3\n/,
    );
    expect(stdout).toContain('[user to left]\ngo left two\n\nYour answer as left, "." on its own line sends it:');
    expect(stdout).toContain("[user to right]\nleft: a||b, right: c\n");
    expect(stdout).toContain("left: , right: d\n");
    expect(stdout).toContain("[left earns] reward 0.4 (length 0.4)");
    expect(stdout).toContain("[right earns] unscored: nobody looked");
    expect(stdout).toMatch(
      /\nThe episode is over\.\nleft: reward 0\.5 \(length 0\.5\)\nright: unscored: nobody looked\n$/,
    );
  });

  it("leaves the other agents to the demonstration, and to the person after its end", async () => {
    const { stdout, code } = await play("./pair.ts --agent left", "a\n.\nb\n.\nc\n.\nmine\n.\n");
    expect(code).toBe(0);
    expect(stdout).toContain("[right answers]\nr0\n");
    expect(stdout).toContain("left: b, right: r1\n");
    expect(stdout).not.toContain("l0");
    expect(stdout.match(/Your answer as (left|right)/g)).toEqual([
      "Your answer as left",
      "Your answer as left",
      "Your answer as left",
      "Your answer as right",
    ]);
    expect(stdout).toContain("The episode is over.");
  });

  it("ends at the end of the input, with the rewards so far", async () => {
    const { code, stdout, stderr } = await play("./pair.ts --agent left", "abc\n.\n\n");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/\nEnded early\.\nleft: reward 0\.3 \(length 0\.3\)\nright: unscored: nobody looked\n$/);
    const none = await play("./pair.ts", "");
    expect(none.stdout).toMatch(/\nEnded early\.\n$/);
    expect(none.code).toBe(0);
  });

  it("ends at Ctrl-C", async () => {
    let sent = false;
    const { code, stdout, stderr } = await lyceum(["play", "./pair.ts"], {
      folder,
      input: { text: "", open: true },
      onOutput: (output, child) => {
        if (!sent && output.includes("Your answer")) sent = child.kill("SIGINT");
      },
    });
    expect({ code, stderr }).toEqual({ code: 130, stderr: "Interrupted.\n" });
    expect(stdout).toMatch(/\nEnded early\.\n$/);
  });

  it("accepts tool calls, and asks again after an invalid one", async () => {
    const typed = '/call sub {}\n.\n/call add {x}\n.\nso:\n/call add {"a": 1}\n/call add\n.\ndone\n.\n';
    const { stdout, code } = await play("./tools.ts", typed);
    expect(stdout).toContain('  add: Adds. {"type":"object"}');
    expect(stdout).toContain('Unknown tool "sub". Known: add.\nOnce more:');
    expect(stdout).toContain('"{x}" is not JSON.');
    const calls = [
      { id: "call-1", name: "add", arguments: { a: 1 } },
      { id: "call-2", name: "add", arguments: {} },
    ];
    expect(stdout).toContain(JSON.stringify(["so:", "tool-calls", calls]));
    expect(stdout).toMatch(/\nagent: reward 1\n$/);
    expect(stdout).not.toContain("\u001b");
    expect(code).toBe(0);
  });

  it("plays built-in environments, with options, split and seed", async () => {
    const words = "math --set tasks=arithmetic --set digits=1 --set answerOnly=true --split test --seed 4";
    const { stdout, code } = await play(words, "no number\n.\n");
    expect(stdout).toMatch(/\nmath: task 0 of test, seed 4\none turn, /);
    expect(stdout).toContain("agent: reward 0 (correct 0)");
    expect(code).toBe(0);
  });

  it.each([
    ["mathh", 2, 'Did you mean "math"?'],
    ["math --set digitz=1", 2, "digitz"],
    ["math --set digits", 2, "expected key=value"],
    ["./pair.ts --agent centre", 2, "Known: left, right."],
    ["./pair.ts --split tests", 1, 'split of "pair" "tests"'],
    ["./pair.ts --task 2", 1, "2"],
    ["./nowhere.ts", 2, "There is no environment file"],
  ])("refuses %j with exit code %i", async (words, exit, text) => {
    const { code, stderr, stdout } = await runInProcess(["play", ...words.split(" ")], { folder });
    expect(stderr).toMatch(/^error\[(config|data)\.[a-z-]+\]: /);
    expect(stderr).toContain(text);
    expect({ code, stdout }).toEqual({ code: exit, stdout: "" });
  });
});
