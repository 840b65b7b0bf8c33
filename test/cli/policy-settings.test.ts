import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { modelSettings } from "../../cli/model-arguments.ts";
import { createPolicyOpener } from "../../cli/policy-opener.ts";
import { answerSettings, readPolicySettings, recordedPolicy } from "../../cli/policy-settings.ts";
import { limitsOf } from "../../cli/sampling-options.ts";
import { toErrorData } from "../../src/contract/errors/index.ts";
import { temporaryFolder } from "../temporary-folder.ts";

async function policyFile(text: string, name = "served.yaml"): Promise<string> {
  const folder = temporaryFolder();
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const address = "http://127.0.0.1:8000/v1";

test("a name is a model with options", async () => {
  expect(await readPolicySettings("owner/name")).toEqual({ model: "owner/name" });
  expect(await readPolicySettings("scripted:answers.json")).toEqual({ model: "scripted:answers.json" });
  const options = [`baseUrl=${address}`, "extraBody.top_k=20", "extraBody.stop_token_ids=[1, 2]", "maxRetries=0"];
  const settings = await readPolicySettings("llama3.2:1b", options);
  expect(settings).toEqual({
    model: "llama3.2:1b",
    baseUrl: address,
    extraBody: { top_k: 20, stop_token_ids: [1, 2] },
    maxRetries: 0,
  });
});

test("a policy file is YAML or JSON, and options replace its settings", async () => {
  const yaml = await policyFile(`model: ${address}#m\nmaxConcurrent: 4\nextraBody: { a: 1, b: 2 }\n`);
  expect(await readPolicySettings(yaml, ["extraBody.a=3", "name=mine"])).toEqual({
    model: `${address}#m`,
    name: "mine",
    maxConcurrent: 4,
    extraBody: { a: 3, b: 2 },
  });
  const json = await policyFile(
    '{"model": "openai:gpt-5-mini", "providerOptions": {"openai": {"reasoningEffort": "low"}}}',
    "p.json",
  );
  expect(await readPolicySettings(json)).toMatchObject({ providerOptions: { openai: { reasoningEffort: "low" } } });
});

test.each([
  ["model: http://h/v1#m\nmaxRetrys: 2", [], /served\.yaml:2:1: unknown key "maxRetrys"/, /Did you mean "maxRetries"/],
  ["model: http://h/v1#m", ["timeout=5"], /--model-option timeout=5: unknown key/, /timeoutMs/],
  ["model: http://h/v1#m", ["maxConcurrent=0"], /--model-option maxConcurrent=0: maxConcurrent/, undefined],
  ["model: http://h/v1#m", ["timeoutMs=soon"], /expected a number, got "soon"/, undefined],
  ["model: http://h/v1#m", ["endpoint=complete"], /endpoint: expected one of chat, completions/, undefined],
  ["model: http://h/v1#m", ["maxRetries"], /expected key=value/, /--model-option key=value/],
  ["maxRetries: 2", [], /give either model/, undefined],
  ["model: a\nagents: { aux: b }", [], /give either model/, undefined],
  [
    "agents: { aux: b }\nmaxRetries: 2",
    [],
    /"maxRetries" is not an option of a model for each agent/,
    /keys of a policy/,
  ],
  [
    "agents: { aux: openai:gpt-5-mini }\nbase: b",
    [],
    /"base" is not an option of the model openai/,
    /Policies of the kind "engine" have "base"\. A local model/,
  ],
  ["agents: { aux: { model: a, baze: b } }", [], /served\.yaml, agents\.aux.*unknown key "baze"/, /"base"/],
  ["model: owner/name", ["maxRetries=2"], /"maxRetries" is not an option of the model owner\/name/, /baseUrl/],
  [
    "model: openai:gpt-5-mini",
    ["extraBody.a=1"],
    /"extraBody" is not an option of the model openai/,
    /providerOptions/,
  ],
  ["model: http://h/v1#m", ["providerOptions.a.b=1"], /"providerOptions" is not an option/, /extraBody/],
  ["model: [", [], /served\.yaml:1/, undefined],
])("%j with %j is refused", async (text, options, message, hint) => {
  const refused = toErrorData(
    await readPolicySettings(await policyFile(text), options).catch((error: unknown) => error),
  );
  expect(refused.code).toBe("config.invalid");
  expect(refused.message).toMatch(message);
  if (hint !== undefined) expect(refused.hint).toMatch(hint);
});

const halving = fileURLToPath(import.meta.resolve("../../examples/agents/halving-player.ts"));

test("a module's policy has its own options, with their defaults, and those of every policy", async () => {
  expect(await readPolicySettings(halving)).toEqual({ model: halving, careless: 0 });
  const file = await policyFile(`model: ${halving}\ncareless: 0.5\nsampling: { temperature: 0 }`);
  const settings = { model: halving, careless: 0.5, sampling: { temperature: 0 } };
  expect(await readPolicySettings(file)).toEqual(settings);
  expect(recordedPolicy({ ...settings, timeoutMs: 5 })).toEqual(settings);
});

test.each([
  ["careless=2", /--model-option careless=2: careless/, undefined],
  ["carelss=0.5", /unknown key "carelss"/, /"careless"/],
  ["maxRetries=2", /"maxRetries" is not an option of the model/, /careless.*kind "openai-compatible"/],
])("a module's policy refuses %s", async (option, message, hint) => {
  const refused = toErrorData(await readPolicySettings(halving, [option]).catch((error: unknown) => error));
  expect(refused).toMatchObject({ code: "config.invalid", message: expect.stringMatching(message) });
  if (hint !== undefined) expect(refused.hint).toMatch(hint);
});

test("local models have a revision and template variables, which are recorded; other models do not", async () => {
  const options = ["revision=v2", "templateVariables.enable_thinking=false"];
  const settings = { model: "owner/name", revision: "v2", templateVariables: { enable_thinking: false } };
  expect(await readPolicySettings("owner/name", options)).toEqual(settings);
  expect(recordedPolicy(settings)).toEqual(settings);
  for (const option of options) {
    await expect(readPolicySettings("http://h/v1#m", [option])).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringMatching(/"(revision|templateVariables)" is not an option of the model http/),
    });
  }
  await expect(readPolicySettings("owner/name", ["templateVariables.messages=[]"])).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining("templateVariables"),
  });
});

test("limits belong to the model that plays, or to its team; those of the command line take precedence", async () => {
  const limits = { turns: 3, seconds: 2 };
  const file = await policyFile("model: a\nlimits: { turns: 3, seconds: 2 }");
  expect(await readPolicySettings(file)).toEqual({ model: "a", limits });
  const team = await readPolicySettings(await policyFile("agents: { x: a, y: b }\nlimits: { turns: 3, seconds: 2 }"));
  expect(team).toMatchObject({ model: "x=a y=b", limits });
  expect(limitsOf({ limitTurns: 1, limitTokens: 9 }, limits)).toEqual({ turns: 1, tokens: 9, episodeMs: 2000 });
  expect(limitsOf({})).toBeUndefined();
  await expect(readPolicySettings(file, ["limits.turns=0"])).rejects.toMatchObject({ code: "config.invalid" });
  const catalog = {
    createBackend: () => Promise.reject(new Error("no backend is needed")),
    createTinkerBackend: () => Promise.reject(new Error("no backend is needed")),
  };
  await using opener = createPolicyOpener({ catalog, signal: new AbortController().signal });
  await expect(opener.openSettings({ model: "scripted:./x.ts", limits })).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining("only the model that eval or collect plays with can have them"),
  });
});

test("a team's settings are those of each agent's model", async () => {
  const file = await policyFile(
    "agents: { aux: a, main: { model: b, base: c, sampling: { topK: 3 } } }\nbase: d\nsampling: { temperature: 0, topK: 2 }",
  );
  const aux = { model: "a", base: "d", sampling: { temperature: 0, topK: 2 } };
  const main = { model: "b", base: "c", sampling: { temperature: 0, topK: 3 } };
  expect(await readPolicySettings(file)).toEqual({ model: "aux=a main=b", agents: { aux, main } });
  expect(recordedPolicy(await readPolicySettings(file))).toEqual({ agents: { aux, main } });
});

test("--model names one model, or one for each agent", async () => {
  expect(await modelSettings({ model: ["a"] })).toEqual({ model: "a" });
  expect(await modelSettings({ model: ["a"], base: "b" })).toEqual({ model: "a", base: "b" });
  const both = { aux: { model: "a", base: "c: d" }, main: { model: "http://h/v1?x=y#m" } };
  const team = ["aux=a", "main=http://h/v1?x=y#m"];
  expect(await modelSettings({ model: team, modelOption: ['agents.aux={"model":"a","base":"c: d"}'] })).toEqual({
    model: "aux=a main=http://h/v1?x=y#m",
    agents: both,
  });
  // An equals sign after a colon or a slash is a part of the name.
  expect(await modelSettings({ model: ["http://h/v1?x=y#m"] })).toEqual({ model: "http://h/v1?x=y#m" });
  expect(await modelSettings({ model: ["./a=b"] })).toEqual({ model: "./a=b" });
});

test.each([
  [["a", "b"], /--model a names no agent/],
  [["aux=a", "b"], /--model b names no agent/],
  [["aux=a", "aux=b"], /"aux" has two models/],
  [["agent="], /--model agent= names no model/],
  [["agent= "], /--model agent= {2}names no model/],
  [["aux=a", "main="], /--model main= names no model/],
  [["=a"], /--model =a names no agent/],
  [["="], /--model = names no model/],
  [["aux=a", "=b"], /--model =b names no agent/],
])("--model %j is refused", async (model, message) => {
  await expect(modelSettings({ model })).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringMatching(message),
    hint: expect.stringContaining("--model aux=MODEL"),
  });
});

test("a missing file is reported", async () => {
  await expect(readPolicySettings("/nowhere/served.yaml")).rejects.toMatchObject({ code: "data.not-found" });
});

test("the record contains the settings that affect answers, and no key or header", () => {
  expect(answerSettings({ model: "m" })).toBeUndefined();
  expect(
    answerSettings({
      model: `${address}#m`,
      name: "mine",
      headers: { authorization: "sk-secret" },
      apiKeyVariable: "KEY",
      maxRetries: 2,
      extraBody: { top_k: 20 },
    }),
  ).toEqual({ model: `${address}#m`, extraBody: { top_k: 20 } });
});

test.each([
  "file:///models/a",
  "file:a",
  "file://host/a",
  "FILE:///a",
  "agent=file:///models/a",
])("--model %s is refused, because it is the URL of a file", async (text) => {
  await expect(modelSettings({ model: [text] })).rejects.toMatchObject({
    code: "config.invalid",
    hint: expect.stringContaining("by its path"),
  });
});
