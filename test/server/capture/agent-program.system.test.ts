import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import type { AgentCall } from "../../../server/capture/agent-call.ts";
import { type AgentProgramOptions, agentProgram } from "../../../server/capture/agent-program.ts";
import { killRunning } from "../../../server/capture/program-process.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { type Message, textMessage, textOf } from "../../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../../src/contract/policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { policyConformance } from "../../../src/testing/policy-conformance.ts";
import { countingEnvironment, numbers, oneTask } from "../../core/rollout/scripted-environment.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { describeCases } from "../../testing/describe-cases.ts";
import { randomBytesPolicy } from "./random-sampler.ts";

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
});

const sampling = { temperature: 1, maxTokens: 12 };
const request: ActRequest = { agent: "agent", messages: [textMessage("user", "hello")], sampling, seed: 4 };

/** Calls the model with a conversation in OpenAI's form, and returns its answer. */
async function ask({ baseURL, apiKey }: AgentCall, messages: readonly object[], more = {}): Promise<string> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "any", messages, ...more }),
  });
  const body = (await response.json()) as { choices: [{ message: { content: string } }]; error?: { message: string } };
  if (!response.ok) throw new Error(body.error!.message);
  return body.choices[0].message.content;
}

const user = (content: string): object => ({ role: "user", content });
const assistant = (content: string): object => ({ role: "assistant", content });

/** Asks, reviews the answer in the same conversation, and asks for another opinion in a conversation of its own. */
async function reviewer(call: AgentCall): Promise<string> {
  const question = textOf(call.messages.at(-1)!);
  const first = await ask(call, [user(question)]);
  const second = await ask(call, [user(question), assistant(first), user("sure?")]);
  await ask(call, [user(`other ${question}`)]);
  return second;
}

describeCases(
  "an agent program",
  policyConformance(async () => {
    const policy = await opened({ function: reviewer }, randomBytesPolicy().policy);
    return { policy, request, [Symbol.asyncDispose]: () => policy[Symbol.asyncDispose]() };
  }),
);

async function opened(options: AgentProgramOptions, model: Policy): Promise<Policy & AsyncDisposable> {
  const policy = await agentProgram(options).open(model);
  return { ...policy, [Symbol.asyncDispose]: () => policy.close!() };
}

describe("an agent program", () => {
  test("is a policy whose model calls are recorded with exactly the sampled ids", async () => {
    const { policy: model, prompts } = randomBytesPolicy();
    await using policy = await opened({ function: reviewer }, model);
    const environment = countingEnvironment(2);
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies: policy, seed: 1, sampling });
    expect(episode.status).toBe("completed");
    const { turns, nodes, policy: name } = episode.agents.agent!;
    expect(name).toBe("reviewer with bytes");
    expect(turns.map(({ calls }) => calls!.map(({ continues }) => continues))).toEqual([
      [undefined, 0, undefined],
      [undefined, 0, undefined],
    ]);
    expect(nodes[1]!.message).toEqual(turns[0]!.calls![1]!.answer);
    expect(turns[0]!.usage!.completionTokens).toBe(
      turns[0]!.calls!.reduce((sum, { completion }) => sum + completion!.ids.length, 0),
    );
    const sequences = tokenSequences(episode);
    expect(sequences).toHaveLength(4);
    // The prompts that the sampler got are in the sequences, followed by ids of mask 1.
    for (const prompt of prompts) {
      const found = sequences.filter(
        ({ ids, mask }) => prompt.every((id, index) => ids[index] === id) && mask[prompt.length] === 1,
      );
      expect(found.length).toBeGreaterThan(0);
    }
  });

  test("samples other answers in each episode of a group, also if it names a seed and a temperature", async () => {
    const { policy: model } = randomBytesPolicy();
    const call = (given: AgentCall): Promise<string> => ask(given, [user("hi")], { seed: 1, temperature: 0.1 });
    await using policy = await opened({ function: call }, model);
    const [group] = await collectGroups(
      rollout({ environment: countingEnvironment(1), tasks: numbers(1), policies: policy, groupSize: 4, seed: 1 }),
    );
    const sequences = group!.episodes.flatMap((episode) => tokenSequences(episode));
    expect(new Set(sequences.map(({ ids }) => ids.join())).size).toBe(4);
    expect(sequences.map(({ temperature }) => temperature)).toEqual([1, 1, 1, 1]);
  });

  test("answers with a message and its tool calls", async () => {
    const message: Message = { role: "assistant", content: [], toolCalls: [{ id: "1", name: "look", arguments: {} }] };
    await using policy = await opened({ function: () => message }, scriptedPolicy([""]));
    expect((await policy.act(request)).action).toEqual({ message, finish: "tool-calls" });
  });

  test("has its calls sampled in batches, in an order that does not depend on time", async () => {
    const play = async (): Promise<number[]> => {
      const { policy: model } = randomBytesPolicy();
      const sizes: number[] = [];
      let size = 0;
      const counting: Policy = {
        ...model,
        act: (asked) => {
          if (size++ === 0) {
            setImmediate(() => {
              sizes.push(size);
              size = 0;
            });
          }
          return model.act(asked);
        },
      };
      await using policy = await opened({ function: reviewer }, counting);
      await collectGroups(
        rollout({ environment: countingEnvironment(1), tasks: numbers(4), policies: policy, groupSize: 4, seed: 1 }),
      );
      return sizes;
    };
    const sizes = await play();
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(48);
    expect(sizes.length).toBeLessThan(16);
  });

  test("ends after the maximum number of model calls", async () => {
    const endless = async (call: AgentCall): Promise<string> => {
      let answer = "";
      while (!answer.startsWith("Step budget exhausted")) answer = await ask(call, [user("go on")]);
      return answer;
    };
    await using policy = await opened({ function: endless, maxModelCalls: 3 }, scriptedPolicy(["a"]));
    expect((await policy.act(request)).calls).toHaveLength(3);
  });

  test.each([
    ["nothing", {}],
    ["both", { function: reviewer, command: ["true"] }],
    ["an empty command", { command: [] }],
  ])("is refused with %s", (_, options) => {
    expect(() => agentProgram(options)).toThrow(expect.objectContaining({ code: "config.invalid" }));
  });
});

/** A shell script that asks the model with curl and writes its answer. */
const script = `
question=$(cat | sed 's/.*"text":"//; s/".*//')
curl -s "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d "{\\"model\\":\\"$LYCEUM_MODEL\\",\\"messages\\":[{\\"role\\":\\"user\\",\\"content\\":\\"$question\\"}]}" |
  sed 's/.*"content":"//; s/".*//'
`;

const sh = (text: string): Pick<AgentProgramOptions, "command"> => ({ command: ["sh", "-c", text] });
const callOnce = `curl -s "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' -d '{"messages":[{"role":"user","content":"x"}]}' > /dev/null`;

describe("a command", () => {
  test("is an agent: a shell script with curl", async () => {
    await using policy = await opened(sh(script), scriptedPolicy(["four"]));
    const { action, calls } = await policy.act(request);
    expect(textOf(action.message)).toBe("four");
    expect(calls).toMatchObject([{ messages: [{ content: [{ text: "hello" }] }] }]);
  });

  test.skipIf(spawnSync("jq", ["--version"]).error !== undefined)("is the shell script of the examples", async () => {
    const script = join(import.meta.dirname, "../../../examples/agents/curl-agent.sh");
    await using policy = await opened({ command: ["sh", script] }, scriptedPolicy(["three", "four"]));
    const { action, calls } = await policy.act({ ...request, messages: [textMessage("user", 'Is "2\n" \\ 2?')] });
    expect(textOf(action.message)).toBe("four");
    expect(calls!.map(({ continues }) => continues)).toEqual([undefined, 0]);
    expect(textOf(calls![0]!.messages[0]!)).toBe('Is "2\n" \\ 2?');
  });

  test("that fails after a model call earns the lowest reward, with its last output", async () => {
    await using policy = await opened(
      sh(`${callOnce}; echo first >&2; echo "no luck" >&2; exit 3`),
      scriptedPolicy(["a"]),
    );
    const { failure, calls, action } = await policy.act(request);
    expect(calls).toHaveLength(1);
    expect(action.finish).toBe("error");
    expect(failure).toMatchObject({
      code: "program.failed",
      message: expect.stringMatching(/ended with code 3: no luck\.$/),
      data: { failureCause: "policy?", stderr: "first\nno luck" },
    });
    const environment = countingEnvironment(1);
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies: policy, seed: 1 });
    expect(episode).toMatchObject({ status: "failed", error: { code: "program.failed" } });
    expect(episode.agents.agent!.reward).toMatchObject({
      status: "scored",
      value: 0,
      failure: { code: "program.failed" },
    });
  });

  test("that fails before its first model call, or cannot be started, leaves the episode unscored", async () => {
    const environment = countingEnvironment(1);
    for (const options of [sh("echo broken >&2; exit 1"), { command: ["no-such-program"] }]) {
      await using policy = await opened(options, scriptedPolicy(["a"]));
      const { agents, error } = await rolloutEpisode({ environment, task: await oneTask(), policies: policy, seed: 1 });
      expect(error).toMatchObject({
        code: "program.failed",
        message: expect.stringMatching(/broken|could not be started/),
      });
      expect(agents.agent!.reward.status).toBe("unscored");
    }
  });

  test("that fails only once leaves the episode unscored", async () => {
    const mark = join(folder, "failed");
    const text = `${callOnce}; test -e ${mark} || { touch ${mark}; exit 1; }; echo fine`;
    await using policy = await opened(sh(text), scriptedPolicy(["a"]));
    await expect(policy.act(request)).rejects.toMatchObject({ code: "program.failed" });
    expect(textOf((await policy.act(request)).action.message)).toBe("fine");
  });

  test.each(["timeout", "abort", "end"] as const)("is killed with its background processes: %s", async (how) => {
    const beat = join(folder, `beat-${how}`);
    const text = `(while true; do echo x >> ${beat}; sleep 0.02; done) & ${how === "end" ? "sleep 0.1; echo done" : "sleep 60"}`;
    const options = { ...sh(text), timeoutMs: how === "timeout" ? 200 : 60_000 };
    await using policy = await opened(options, scriptedPolicy(["a"]));
    const reason = new Error("stopped");
    const stop = new AbortController();
    const acting = policy.act({ ...request, signal: stop.signal });
    if (how === "end") expect(textOf((await acting).action.message)).toBe("done");
    if (how === "timeout") await expect(acting).rejects.toMatchObject({ code: "timeout" });
    if (how === "abort") {
      setTimeout(() => stop.abort(reason), 200);
      await expect(acting).rejects.toBe(reason);
    }
    await sleep(100);
    const before = existsSync(beat) ? (await readFile(beat)).length : 0;
    await sleep(200);
    expect(existsSync(beat) ? (await readFile(beat)).length : 0).toBe(before);
  });

  test("is killed when this process ends", async () => {
    const listeners = process.listenerCount("exit");
    await using policy = await opened(sh("sleep 60"), scriptedPolicy(["a"]));
    const acting = policy.act(request);
    expect(process.listenerCount("exit")).toBe(listeners + 1);
    killRunning();
    await expect(acting).rejects.toMatchObject({ message: expect.stringContaining("was ended by SIGKILL") });
    expect(process.listenerCount("exit")).toBe(listeners);
  });

  test("runs in its folder with its own variables, and need not read its input", async () => {
    await writeFile(join(folder, "word.txt"), "here");
    const options = { ...sh('cat word.txt; printf " %s" "$COLOR"'), cwd: folder, env: { COLOR: "blue" } };
    await using policy = await opened(options, scriptedPolicy(["a"]));
    const long = [textMessage("user", "x".repeat(1 << 20))];
    expect(textOf((await policy.act({ ...request, messages: long })).action.message)).toBe("here blue");
  });
});

describe("a function", () => {
  test("that throws on an answer of its model earns the lowest reward", async () => {
    const picky = async (call: AgentCall): Promise<string> => {
      const answer = await ask(call, [user("?")]);
      if (answer === "bad") throw new TypeError("I cannot read bad");
      return answer;
    };
    await using policy = await opened({ function: picky }, scriptedPolicy(["bad"]));
    expect((await policy.act(request)).failure).toMatchObject({
      message: 'The agent program "picky" threw TypeError: I cannot read bad.',
      data: { failureCause: "policy" },
    });
  });

  test("whose model fails has the model's error, even if it answers", async () => {
    const error = new LyceumError({ code: "backend.failed", message: "no memory" });
    const broken: Policy = { ...scriptedPolicy([""]), act: () => Promise.reject(error) };
    await using careless = await opened({ function: (call) => ask(call, [user("?")]).catch(() => "none") }, broken);
    await expect(careless.act(request)).rejects.toBe(error);
    await using strict = await opened({ function: (call) => ask(call, [user("?")]) }, broken);
    await expect(strict.act(request)).rejects.toBe(error);
  });

  test("may repeat a call that failed", async () => {
    let failures = 1;
    const model = scriptedPolicy(["fine"]);
    const flaky: Policy = {
      ...model,
      act: async (asked) => {
        if (failures-- > 0) throw new Error("once");
        return model.act(asked);
      },
    };
    const patient = (call: AgentCall): Promise<string> => ask(call, [user("?")]).catch(() => ask(call, [user("?")]));
    await using policy = await opened({ function: patient }, flaky);
    expect(textOf((await policy.act(request)).action.message)).toBe("fine");
  });

  test("that outgrows the context of its model has its calls and the lowest reward", async () => {
    const { policy: model } = randomBytesPolicy();
    let left = 2;
    const short: Policy = {
      ...model,
      act: async (asked) => {
        if (left-- > 0) return model.act(asked);
        throw new LyceumError({ code: "policy.prompt-too-long", message: "too long" });
      },
    };
    await using policy = await opened({ function: reviewer }, short);
    const { calls, failure } = await policy.act(request);
    expect(calls).toHaveLength(2);
    expect(failure).toMatchObject({ code: "program.failed", data: { failureCause: "policy" } });
  });

  test("that ignores its signal is left behind at the time limit", async () => {
    await using policy = await opened({ function: () => new Promise(() => {}), timeoutMs: 50 }, scriptedPolicy([""]));
    await expect(policy.act(request)).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("50 ms"),
    });
  });

  test("that returns neither a text nor a message fails", async () => {
    await using policy = await opened({ function: (() => 4) as never }, scriptedPolicy([""]));
    await expect(policy.act(request)).rejects.toMatchObject({ code: "program.failed" });
  });

  test("cannot use its key after its end", async () => {
    let kept: AgentCall | undefined;
    const keeps = (call: AgentCall): string => {
      kept = call;
      return "done";
    };
    await using policy = await opened({ function: keeps }, scriptedPolicy(["a"]));
    await policy.act(request);
    await expect(ask(kept!, [user("?")])).rejects.toThrow();
  });
});
