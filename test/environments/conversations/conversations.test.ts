import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { chatRows } from "../../../cli/chat-row.ts";
import { conversationsEnvironment } from "../../../environments/conversations/conversations.ts";
import type { ConversationsOptions } from "../../../environments/index.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import { createChatTemplateRenderer } from "../../../src/core/tokens/chat-template-renderer.ts";
import type { Renderer } from "../../../src/core/tokens/renderer.ts";
import { createTextRenderer } from "../../../src/core/tokens/text-renderer.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { letterEnvironment } from "../../trainers/letter-environment.ts";
import { eventsOf, letterConfig, runTraining } from "../../trainers/run-training.ts";

const user = (content: string): object => ({ role: "user", content });
const assistant = (content: string, more: object = {}): object => ({ role: "assistant", content, ...more });
const lookUp = { id: "c1", type: "function", function: { name: "look_up", arguments: '{"word":"gift"}' } };
const tools = [{ type: "function", function: { name: "look_up", description: "Looks up.", parameters: {} } }];

const tokenizer = createByteTokenizer();

const rows = {
  short: { messages: [user("Hello"), assistant("Good day")], reward: 1, agent: "agent" },
  long: {
    messages: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "What is a gift?" }] },
      { role: "assistant", content: null, tool_calls: [lookUp] },
      { role: "tool", content: "A present.", tool_call_id: "c1" },
      assistant("A present."),
      user("Thank you"),
    ],
    tools,
    reward: 0.5,
    agent: "helper",
  },
  poor: { messages: [user("Hello"), assistant("Go away")], reward: 0 },
};

/** The environment of a file with these lines. */
async function environmentOf(
  lines: readonly (object | string)[],
  options: Partial<ConversationsOptions> = {},
): Promise<EnvironmentDefinition> {
  const path = join(temporaryFolder(), "chat.jsonl");
  await writeFile(path, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return conversationsEnvironment({ path, ...options }) as EnvironmentDefinition;
}

const texts = async (environment: EnvironmentDefinition): Promise<string[]> => {
  const tasks = await environment.tasks("train");
  const entries = await Promise.all(Array.from({ length: Number(tasks.length) }, (_, index) => tasks.get(index)));
  return entries.map(({ task }) => JSON.stringify(task));
};

describe("the conversations environment", () => {
  it("passes the conformance suite", async () => {
    const environment = await environmentOf([rows.short, rows.long]);
    expect((await checkEnvironment(environment, { tasks: 2, episodes: 5 })).problems).toEqual([]);
  });

  it("replays the messages to the assistant turn by turn, and demonstrates its answers", async () => {
    const environment = await environmentOf([rows.long]);
    const task = await (await environment.tasks("train")).get(0);
    const policies = demonstrationPolicy({ environment });
    const { agents, error } = await rolloutEpisode({ environment, task, policies, seed: 0 });
    expect(error).toBeUndefined();
    const { nodes, reward } = agents.agent!;
    expect(nodes.map(({ message }) => message)).toEqual([
      { role: "system", content: [{ type: "text", text: "Be brief." }] },
      { role: "user", content: [{ type: "text", text: "What is a gift?" }] },
      { role: "assistant", content: [], toolCalls: [{ id: "c1", name: "look_up", arguments: { word: "gift" } }] },
      { role: "tool", content: [{ type: "text", text: "A present." }], toolCallId: "c1" },
      { role: "assistant", content: [{ type: "text", text: "A present." }] },
    ]);
    expect(reward).toMatchObject({ status: "scored", value: 1 });
  });

  it("gives the model the row's tools", async () => {
    const environment = await environmentOf([rows.long]);
    const { task } = await (await environment.tasks("train")).get(0);
    const observations = await (await environment.create()).reset({ task, seed: 0 });
    expect(observations.agent!.tools).toEqual([{ name: "look_up", description: "Looks up.", parameters: {} }]);
  });

  it("rewards the share of answers that match the recorded ones", async () => {
    const environment = await environmentOf([rows.long]);
    const task = await (await environment.tasks("train")).get(0);
    const policies = scriptedPolicy(() => " A present.\n", { name: "present" });
    const { agents } = await rolloutEpisode({ environment, task, policies, seed: 0 });
    expect(agents.agent!.reward).toMatchObject({ value: 0.5 });
  });

  it.each<[Partial<ConversationsOptions>, (keyof typeof rows)[]]>([
    [{}, ["short", "long", "poor"]],
    [{ minReward: 0.5 }, ["short", "long"]],
    [{ maxReward: 0.5 }, ["long", "poor"]],
    [{ minReward: 0.5, maxReward: 0.5 }, ["long"]],
    [{ minReward: 0.5 + 1e-12, maxReward: 0.5 - 1e-12 }, ["long"]],
    [{ agent: "helper" }, ["long"]],
  ])("selects with %j the rows %j", async (options, expected) => {
    const all = [rows.short, rows.long, rows.poor];
    const wanted = expected.map((name) => all.indexOf(rows[name]));
    const whole = await texts(await environmentOf(all));
    expect(await texts(await environmentOf(all, options))).toEqual(wanted.map((index) => whole[index]));
  });

  it("replays at most maxTurns answers", async () => {
    const environment = await environmentOf([rows.long], { maxTurns: 1 });
    const task = await (await environment.tasks("train")).get(0);
    const episode = await rolloutEpisode({
      environment,
      task,
      policies: demonstrationPolicy({ environment }),
      seed: 0,
    });
    expect(episode).toMatchObject({ status: "completed", turns: 1, agents: { agent: { reward: { value: 1 } } } });
  });

  it.each<[string, (object | string)[], object, RegExp]>([
    ["no JSON", [rows.short, "{"], { code: "data.malformed" }, /chat\.jsonl:2/],
    [
      "no messages",
      [rows.short, "", { text: "x" }],
      { code: "data.malformed" },
      /chat\.jsonl:3: .*neither messages nor a prompt/,
    ],
    ["no answer", [{ messages: [user("x")] }], { code: "data.malformed" }, /:1: .*no message of the assistant/],
    ["no question", [{ messages: [assistant("x")] }], { code: "data.malformed" }, /begins with the assistant/],
    [
      "two answers",
      [{ messages: [user("x"), assistant("a"), assistant("b")] }],
      {},
      /messages\.2: .*two messages in a row/,
    ],
    ["a strange role", [{ messages: [{ role: "god", content: "x" }] }], {}, /messages\.0\.role/],
    ["a number as content", [{ messages: [{ role: "user", content: 3 }] }], {}, /messages\.0\.content: content must/],
    [
      "arguments that are not JSON",
      [{ messages: [user("x"), assistant("", { tool_calls: [{ function: { name: "f", arguments: "{" } }] })] }],
      { code: "data.malformed" },
      /arguments of the call of f/,
    ],
    [
      "an image elsewhere",
      [{ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "http://x/y" } }] }] }],
      {},
      /embedded in the file/,
    ],
    ["both forms", [{ ...rows.short, prompt: "x", completion: "y" }], {}, /:1: .*one or the other/],
    ["a prompt alone", [{ prompt: "x", chosen: "y", rejected: "z" }], {}, /:1: completion: must follow the prompt/],
    ["a completion alone", [{ completion: "y" }], {}, /:1: .*neither messages nor a prompt/],
    ["a number as prompt", [{ prompt: 3, completion: "y" }], {}, /:1: prompt: must be a text or a list/],
    ["no message as prompt", [{ prompt: [], completion: "y" }], {}, /:1: completion\.0: .*begins with the assistant/],
    ["no message as completion", [{ prompt: "x", completion: [] }], {}, /:1: completion: must begin with a message/],
    ["a completion of the user", [{ prompt: "x", completion: [user("y")] }], {}, /:1: completion: must begin with/],
    [
      "a prompt that ends with the assistant",
      [{ prompt: [user("x"), assistant("a")], completion: "b" }],
      {},
      /:1: completion\.0: the assistant has two messages/,
    ],
    ["nothing", [], { code: "data.out-of-range", hint: expect.stringContaining('{"messages"') }, /no conversations in/],
  ])("rejects %s before the first episode", async (_, lines, error, message) => {
    const environment = await environmentOf(lines);
    await expect(environment.tasks("train")).rejects.toMatchObject({
      ...error,
      message: expect.stringMatching(message),
    });
  });

  it("gives a hint if no row passes the filter or there is no file", async () => {
    await expect((await environmentOf([rows.poor], { minReward: 1 })).tasks("train")).rejects.toMatchObject({
      code: "data.out-of-range",
      message: expect.stringContaining("None of the 1 conversations"),
    });
    await expect(conversationsEnvironment().tasks("train")).rejects.toMatchObject({
      code: "config.invalid",
      hint: expect.stringContaining("path: "),
    });
    await expect(conversationsEnvironment({ path: "nowhere.jsonl" }).tasks("train")).rejects.toMatchObject({
      code: "data.not-found",
    });
  });

  /** What SFT learns from the first row of a file: the text of each sequence, with the learned parts in brackets. */
  const learnedFrom = async (row: object, renderer: Renderer = createByteRenderer()): Promise<string[]> => {
    const environment = await environmentOf([row]);
    const task = await (await environment.tasks("train")).get(0);
    const policies = demonstrationPolicy({ environment, renderer });
    const episode = await rolloutEpisode({ environment, task, policies, seed: 0 });
    expect(episode.error).toBeUndefined();
    const sequences = tokenSequences(episode);
    return sequences.map(({ ids, mask }) => {
      const runs = ids.map(
        (id, i) =>
          `${mask[i] === 1 && mask[i - 1] !== 1 ? "[" : ""}${tokenizer.decode([id])}${mask[i] === 1 && mask[i + 1] !== 1 ? "]" : ""}`,
      );
      return runs.join("");
    });
  };

  it("learns the same from a prompt and its completion as from their messages", async () => {
    const learned = await learnedFrom({ messages: [user("Hello"), assistant("Good day")] });
    expect(learned).toEqual([expect.stringMatching(/^[^[]*Hello[^[]*\[Good day[^\]]*\][^[]*$/)]);
    expect(await learnedFrom({ prompt: "Hello", completion: "Good day" })).toEqual(learned);
    expect(await learnedFrom({ prompt: [user("Hello")], completion: [assistant("Good day")] })).toEqual(learned);
    const [short, prompted] = await Promise.all(
      [rows.short, { prompt: "Hello", completion: "Good day" }].map(async (row) => texts(await environmentOf([row]))),
    );
    expect(prompted).toEqual(short);
  });

  it("learns only from the completion, also if the assistant speaks in the prompt, and in each of its turns", async () => {
    const [first, ...more] = await learnedFrom({
      prompt: [user("1+1"), assistant("two"), user("2+2")],
      completion: [assistant("four"), user("3+3"), assistant("six")],
    });
    expect(more).toEqual([]);
    expect(first!.match(/\[[^\]]*\]/g)!.map((text) => text.replace(/[^a-z]/g, ""))).toEqual(["foureot", "sixeot"]);
    expect(first).toMatch(/1\+1.*two.*2\+2/s);
  });

  it("reads both texts in order for a model without a chat template", async () => {
    const renderer = createTextRenderer(tokenizer);
    const [learned] = await learnedFrom({ prompt: "The sky is", completion: " blue." }, renderer);
    expect(learned).toMatch(/^The sky is\[ blue\..*\]$/s);
  });

  describe("the fields of a message", () => {
    const template =
      "{% for m in messages %}({{ m.role }}){% if m.reasoning_content %}[{{ m.reasoning_content }}]{% endif %}{{ m.content }}<|eot|>{% endfor %}{% if add_generation_prompt %}(assistant){% endif %}";
    const renderer = createChatTemplateRenderer({ tokenizer, template });
    const learntTexts = async (environment: EnvironmentDefinition): Promise<readonly string[]> => {
      const task = await (await environment.tasks("train")).get(0);
      const policies = demonstrationPolicy({ environment, renderer });
      const episode = await rolloutEpisode({ environment, task, policies, seed: 1 });
      expect(episode.agents.agent?.reward).toMatchObject({ value: 1 });
      return tokenSequences(episode).flatMap(({ ids, mask }) => {
        const text = ids.map((id, i) => (mask[i] === 1 ? tokenizer.decode([id]) : "\0")).join("");
        return text.split(/\0+/).filter((part) => part !== "");
      });
    };

    it.each<[string, object]>([
      ["reasoning_content", assistant("2", { reasoning_content: "1+1" })],
      ["reasoning", assistant("2", { reasoning: "1+1" })],
      ["thinking", assistant("2", { thinking: "1+1" })],
      ["two equal fields", assistant("2", { thinking: "1+1", reasoning_content: "1+1" })],
      [
        "a part of the content",
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "1+1" },
            { type: "text", text: "2" },
          ],
        },
      ],
      [
        "null fields beside it",
        assistant("2", {
          reasoning_content: "1+1",
          thinking: null,
          weight: null,
          train: null,
          tool_calls: null,
          x: null,
        }),
      ],
    ])("%s is learnt", async (_, answer) => {
      const warned = vi.spyOn(process, "emitWarning");
      expect(await learntTexts(await environmentOf([{ messages: [user("1+1?"), answer] }]))).toEqual(["[1+1]2<|eot|>"]);
      expect(warned).not.toHaveBeenCalled();
      warned.mockRestore();
    });

    it("keeps the form of reasoning that is written in the text", async () => {
      const messages = [user("1+1?"), assistant("<think>1+1</think>2")];
      expect(await learntTexts(await environmentOf([{ messages }]))).toEqual(["<think>1+1</think>2<|eot|>"]);
    });

    it.each<[string, object, object]>([
      ["weight: 0", { weight: 0 }, { weight: 1 }],
      ["train: false", { train: false }, { train: true }],
      ["weight: 0 and train: false", { weight: 0, train: false }, {}],
    ])("%s excludes a message", async (_, excluded, learnt) => {
      const one = [user("a?"), assistant("A", excluded), user("b?"), assistant("B", learnt)];
      expect(await learntTexts(await environmentOf([{ messages: one }]))).toEqual(["B<|eot|>"]);
      const other = [user("a?"), assistant("A", learnt), user("b?"), assistant("B", excluded)];
      expect(await learntTexts(await environmentOf([{ messages: other }]))).toEqual(["A<|eot|>"]);
      const prompt = [user("a?"), assistant("A", excluded), user("b?")];
      expect(await learntTexts(await environmentOf([{ prompt, completion: [assistant("B")] }]))).toEqual(["B<|eot|>"]);
    });

    it.each<[object, RegExp]>([
      [{ messages: [user("a"), assistant("b", { weight: 0 })] }, /nothing is learnt/],
      [{ messages: [user("a"), assistant("b", { weight: 0.5 })] }, /weight must be 0 or 1/],
      [{ messages: [user("a"), assistant("b", { weight: 1, train: false })] }, /contradict/],
      [{ messages: [{ ...user("a"), weight: 1 }, assistant("b")] }, /only messages of the assistant are learnt/],
      [{ messages: [{ ...user("a"), reasoning_content: "c" }, assistant("b")] }, /has reasoning/],
      [{ messages: [user("a"), assistant("b", { reasoning: "c", thinking: "d" })] }, /differ/],
      [
        { messages: [user("a"), assistant("b")], chat_template_kwargs: { messages: [] } },
        /chat_template_kwargs.messages.*reserved/,
      ],
      [{ messages: [user("a"), assistant("b")], chat_template_kwargs: "thinking" }, /chat_template_kwargs/],
    ])("refuses %j", async (row, problem) => {
      await expect((await environmentOf([row])).tasks("train")).rejects.toThrow(problem);
    });

    it("includes variables of the template, which change how the row is rendered and survive collect", async () => {
      const own = `{% if style is defined %}<{{ style }}>{% endif %}{% if thinking == false %}<no>{% endif %}${template}`;
      const styled = createChatTemplateRenderer({ tokenizer, template: own, variables: { style: "plain" } });
      const messages = [user("a"), assistant("b"), user("c"), assistant("d")];
      const rows = [
        { messages },
        { messages, chat_template_kwargs: { style: "loud", thinking: null } },
        { messages, chat_template_kwargs: { thinking: false } },
      ];
      const environment = await environmentOf(rows);
      const tasks = await environment.tasks("train");
      const seen = await Promise.all(
        rows.map(async (_, index) => {
          const policies = demonstrationPolicy({ environment, renderer: styled });
          const episode = await rolloutEpisode({ environment, task: await tasks.get(index), policies, seed: 1 });
          expect(episode.error).toBeUndefined();
          const texts = tokenSequences(episode).map(({ ids }) => tokenizer.decode([...ids]));
          return { texts, row: chatRows(JSON.parse(JSON.stringify(episode)) as Episode)[0]! };
        }),
      );
      expect(seen.map(({ texts }) => texts[0]!.replace(/\(.*/s, ""))).toEqual(["<plain>", "<loud>", "<plain><no>"]);
      expect(seen.map(({ row }) => row.chat_template_kwargs)).toEqual([
        undefined,
        { style: "loud" },
        { thinking: false },
      ]);
      const again = await (await environmentOf(seen.map(({ row }) => row))).tasks("train");
      expect((await again.get(1)).task).toEqual((await tasks.get(1)).task);
    });

    it("are an error for a model without a template", async () => {
      const row = { messages: [user("a"), assistant("b")], chat_template_kwargs: { style: "loud" } };
      const environment = await environmentOf([row]);
      const policies = demonstrationPolicy({ environment, renderer: createByteRenderer() });
      const task = await (await environment.tasks("train")).get(0);
      const { error } = await rolloutEpisode({ environment, task, policies, seed: 1 });
      expect(error).toMatchObject({ code: "policy.unsupported-input", message: expect.stringContaining("style") });
    });

    it("are reported once if nothing reads them", async () => {
      const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
      const row = {
        messages: [{ ...user("a"), lang: "en" }, assistant("b", { lang: "en", toxic: false, refusal: null })],
      };
      const kwargs = { chat_template_kwargs: { enable_thinking: null } };
      await (await environmentOf([row, { ...row, ...kwargs }])).tasks("train");
      expect(warned.mock.calls.map(([text]) => /key "(\w+)"/.exec(String(text))?.[1])).toEqual(["lang", "toxic"]);
      warned.mockRestore();
    });

    it("survive collect and training", async () => {
      const letters = letterEnvironment() as EnvironmentDefinition;
      const policies = scriptedPolicy(() => "<think>hm</think>~");
      const groups = await collectGroups(
        rollout({
          environment: letters,
          tasks: (await letters.tasks("train")) as never,
          policies,
          seed: 0,
          groupSize: 1,
        }),
      );
      const lines = groups.flatMap(({ episodes }) => episodes.flatMap(chatRows)).slice(0, 1);
      expect(await learntTexts(await environmentOf(lines))).toEqual(["[hm]~<|eot|>"]);
    });
  });

  it("fine-tunes on a collected file, and the model learns only conversations with enough reward", async () => {
    const letters = letterEnvironment() as EnvironmentDefinition;
    const group = async (policies: Parameters<typeof rollout>[0]["policies"]) =>
      collectGroups(rollout({ environment: letters, tasks: await letters.tasks("train"), policies, seed: 0 }));
    const played = [
      ...(await group(demonstrationPolicy({ environment: letters }))),
      ...(await group(scriptedPolicy(() => "~", { name: "wrong" }))),
    ];
    const lines = played.flatMap(({ episodes }) => episodes.flatMap(chatRows));
    const learnt = async (options: Partial<ConversationsOptions>): Promise<number> => {
      const environment = await environmentOf(lines, options);
      const output = temporaryFolder();
      const trained = await runTraining({
        output,
        environment,
        config: letterConfig({
          algorithm: { id: "sft" },
          training: { steps: 20, batchSize: 16 },
          checkpoint: { every: 0 },
        }),
      });
      expect(trained.error).toBeUndefined();
      const evaluated = await runTraining({
        output: temporaryFolder(),
        config: letterConfig({
          model: { path: join(output, "model") },
          training: { steps: 1, learningRate: 1e-9 },
          evaluation: { split: "test", limit: 64 },
        }),
      });
      return eventsOf(evaluated, "evaluation")[0]!.metrics.accuracy!;
    };
    expect(await learnt({ minReward: 1 })).toBeGreaterThan(0.95);
    expect(await learnt({ maxReward: 0 })).toBeLessThan(0.3);
  });
});
