import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { type ServedModel, servedModel } from "../../backends/tinker/served-model.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { runInProcess } from "../run-in-process.ts";

let served: ServedModel;
let folder: string;
beforeAll(async () => {
  served = await servedModel();
  folder = temporaryFolder();
});
afterAll(async () => {
  await served[Symbol.asyncDispose]();
});

it("a config of MRLM for several GPUs trains on a server, with only its address changed", async () => {
  const server = await served.serve();
  const old = {
    training: {
      ...{ algorithm: "grpo", num_epochs: 1, num_rollouts_per_iteration: 4, batch_size: 2, use_bf16: true },
      ...{ gradient_accumulation_steps: 2, learning_rate: 0.01, save_every: 1 },
    },
    grpo: { group_size: 4, entropy_coef: 0.01, num_grpo_epochs: 2 },
    // A server refuses the temperature, the alpha and the dropout.
    model: {
      ...{ model_name_or_path: served.source.path, max_new_tokens: 4, temperature: 0.7 },
      ...{ use_lora: true, lora_r: 4, lora_alpha: 8, lora_dropout: 0.1, device: "cuda", torch_dtype: "float16" },
    },
    eval_envs: [{ env_type: "math", max_attempts: 1 }],
    distributed: { enabled: true, num_gpus: 2, strategy: "fsdp" },
  };
  await writeFile(join(folder, "old.yaml"), stringify(old));
  const migrated = await runInProcess(["migrate", "old.yaml", "--cluster", "skyrl", "-o", "new.yaml"], { folder });
  expect(migrated).toMatchObject({ code: 0, stderr: "" });
  expect(migrated.stdout).toMatch(/^First start SkyRL 0\.3\.0 .*:\nuv run .* -m skyrl\.tinker\.api /m);
  expect(parse(await readFile(join(folder, "new.yaml"), "utf8"))).toMatchObject({
    backend: { type: "tinker", url: "http://127.0.0.1:8000" },
  });
  // The tiny model reads 64 tokens, without a chat template.
  const environment = join(import.meta.dirname, "../../interop/letters-module.ts");
  const set = ["model.chatTemplate=none", `environment=${environment}`, "evaluation={}", "probe.groups=0"];
  const trained = await runInProcess(
    [
      ...["train", "-c", "new.yaml", "-o", "out", "--backend-url", server.url],
      ...set.flatMap((change) => ["--set", change]),
    ],
    { folder },
  );
  expect([trained.code, trained.stderr]).toEqual([0, ""]);
  expect(trained.stdout).toMatch(/step 1\/1 /);
  // Two epochs of one minibatch.
  expect(server.steps.at(-1)).toBe(2);
});
