import { describe, expect, it } from "vitest";
import { openCatalog } from "../../../cli/catalog.ts";
import { llmCollabKeys } from "../../../cli/migrate/llm-collab-keys.ts";
import { mrlmKeys } from "../../../cli/migrate/mrlm-keys.ts";
import { translateOverrides } from "../../../cli/migrate/translate-overrides.ts";
import { configKeys } from "../../../cli/run-config.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { llmCollabSamples, mrlmSamples } from "./old-key-samples.ts";

const keys = configKeys(await openCatalog());
const translate = (...overrides: string[]) => translateOverrides(overrides, { keys: () => keys });

describe("overrides with old keys", () => {
  it.each([
    ["model_name=Qwen/Qwen2.5-Coder-7B", 'model.path="Qwen/Qwen2.5-Coder-7B"'],
    ["agent_model.name=bigcode/starcoder2-15b-instruct", 'model.path="bigcode/starcoder2-15b-instruct"'],
    ["grpo.learning_rate=3e-5", "training.learningRate=0.00003"],
    ['grpo.learning_rate="3e-5"', "training.learningRate=0.00003"],
    ["dataset.train_split=test[16:]", 'tasks.split="test[16:]"'],
    ["dataset.eval_split=test[:16]", 'evaluation.split="test[:16]"'],
    ["magrpo.num_turns=2", "environment.maxTurns=2"],
    ["magrpo.turn_gradient_weights=[1.5,0.5]", "algorithm.turnWeights=[1.5,0.5]"],
    ["magrpo.turn_gradient_weights=(1.5, 0.5)", "algorithm.turnWeights=[1.5,0.5]"],
    ["magrpo.external_original_prompt=True", "environment.originalPrompt=true"],
    ["magrpo.external_previous_response=True", "environment.previousResponse=true"],
    ["external.mode=level_feedback", 'environment.mode="level_feedback"'],
    ["external.sandbox_slice=-2", "environment.sandboxSlice=-2"],
    ["external.sandbox_slice=None", 'environment.sandboxSlice="all"'],
    ["external.sandbox_slice=0", 'environment.sandboxSlice="all"'],
    ["magrpo.handoff=best", 'algorithm.handoff="best"'],
    ["external.expert_model=claude-sonnet-4", 'environment.expert="anthropic:claude-sonnet-4"'],
    ["magrpo.discount=0.5", "algorithm.discount=0.5"],
    ["magrpo.early_termination_weight=2", "algorithm.terminationWeight=2"],
    ["maac.critic_type=q", 'algorithm.criticInput="q"'],
    ["training.max_grad_norm=0.5", "training.clipNorm=0.5"],
  ])("%s is %s", (given, expected) => {
    const { set, notes } = translate(given);
    expect(set).toEqual([expected]);
    expect(notes).toEqual([`${given.split("=")[0]} is ${expected.split("=")[0]}`]);
  });

  it.each([
    ["model_name=bigcode/starcoder2-3b", "bigcode/starcoder2-3b"],
    ["model.model_name_or_path=gpt2", "openai-community/gpt2"],
  ])("%s is a base model, without a chat template", (given, path) => {
    const { set, notes } = translate(given);
    expect(set).toEqual([`model.path="${path}"`, 'model.chatTemplate="none"']);
    expect(notes).toEqual([`${given.split("=")[0]} is model.path and model.chatTemplate`]);
  });

  it("keeps the order, and leaves other keys unchanged", () => {
    const given = ["seed=3", "magrpo.num_turns=2", "environment.maxTurns=4", "model.device=cpu", "no.such.key=1", "x"];
    const { set } = translate(...given);
    expect(set).toEqual(["seed=3", "environment.maxTurns=2", ...given.slice(2)]);
  });

  it("counts passes over the tasks; the last override wins", () => {
    expect(translate("grpo.num_train_epochs=20", "magrpo.num_train_epochs=7")).toMatchObject({ set: [], epochs: 7 });
    expect(() => translate("grpo.num_train_epochs=many")).toThrow(
      "is now training.epochs, which must be a whole number above 0",
    );
  });

  it.each([
    ["magrpo.early_termination_threshold=4.0", "is now algorithm.terminationThreshold"],
    ["reward_processor.shift=-4", "is now rewards"],
    ["model.load_in_4bit=True", "is now backend.quantize (only under an adapter"],
    ["magrpo.num_turns=None", "is now environment.maxTurns, which cannot be None"],
    ["magrpo.critic_type=q", "has no counterpart in Lyceum: magrpo has no criticInput"],
    ["training.algorithm=reinforce", "Unknown algorithm of MRLM"],
  ])("%s is an error that says %j", (given, message) => {
    expect(() => translate(given)).toThrow(message);
  });

  it.each([
    "model.load_in_4bit=False",
    "external.external_prompt_passthrough=True",
    "model.tokenizer_kwargs.use_fast=True",
  ])("%s changes nothing, and a line says so", (given) => {
    const { set, notes } = translate(given);
    expect(set).toEqual([]);
    expect(notes).toEqual([expect.stringMatching(/ changes nothing/)]);
  });

  it("of every key in the tables are translated to existing keys, or refused with a reason", () => {
    const known = new Set(keys.map(({ key }) => key));
    const pending = ["model.precision", "model.deviceIndex"];
    for (const [rows, samples] of [
      [mrlmKeys, mrlmSamples],
      [llmCollabKeys, llmCollabSamples],
    ] as const) {
      for (const { old } of rows) {
        for (const value of samples[old] ?? []) {
          const key = old.replace(/^\*/, "magrpo");
          const text = `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`;
          let set: readonly string[] = [];
          try {
            ({ set } = translate(text));
          } catch (error) {
            if (!LyceumError.isInstance(error)) throw error;
            const says = /is now .+|counterpart|Unknown|whole number|cannot be None/.test(error.message);
            expect([text, error.code, says]).toEqual([text, "config.invalid", true]);
          }
          for (const name of set
            .filter((change) => change !== text)
            .map((change) => change.slice(0, change.indexOf("=")))) {
            const listed = [...known].some((other) => other === name || other.startsWith(`${name}[`));
            expect([text, name, listed || pending.includes(name)]).toEqual([text, name, true]);
          }
        }
      }
    }
  });
});
