import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { textMessage } from "../../src/message/message.ts";
import { loadRenderer } from "../../src/tokens/load-renderer.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { readLogits } from "../../trainers/backends/onnx/inspect.ts";
import { type LyceumResult, lyceum } from "../cli/run-lyceum.ts";
import { largestDifference } from "./compare.ts";
import { forwardReference } from "./reference.ts";

const { smollm2, quick } = inject("interop");
const problems = join(
  process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../../shared/data"),
  "coop-humaneval.json",
);

/** The two-turn environment, as `--set` takes it. */
const environment = {
  dataset: "coop-humaneval",
  path: problems,
  agents: 2,
  reward: "comlrl",
  maxTurns: 2,
  payEveryTurn: true,
  mode: "level_feedback",
  history: "latest",
  originalPrompt: true,
};
const set = Object.entries(environment).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
const few = ["--temperature", "0.8", "--max-tokens", "48", "--seed", "1"];

/** Two coders on real problems, two turns with feedback, a few steps of MAGRPO. */
const config = `seed: 1
environment: ${JSON.stringify({ id: "code", ...environment })}
algorithm: { id: magrpo, groupSize: 2, turnStructure: handoff }
model: { path: ${JSON.stringify(smollm2)}, adapter: { type: lora, rank: 8, alpha: 16 } }
tasks: { split: "test[16:]" }
sampling: { temperature: 0.8, maxTokens: 48 }
training: { steps: 3, batchSize: 2, learningRate: 1e-3, sampleEvery: 0 }
rollout: { trace: true }
`;

describe.skipIf(quick || !existsSync(problems))("a team of two on CoopHumanEval with SmolLM2-135M-Instruct", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lyceum-team-"));
    await writeFile(join(folder, "team.yaml"), config);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function run(...args: readonly string[]): Promise<LyceumResult> {
    const result = await lyceum(args, { folder });
    expect(result.code, result.stderr).toBe(0);
    return result;
  }

  const weightsOf = (path: string): Promise<Buffer> => readFile(join(folder, path, "adapter_model.safetensors"));
  const traceOf = async (path: string): Promise<string> => readFile(join(folder, path, "trace.jsonl"), "utf8");

  test("trains, in two turns", async () => {
    await run("train", "--config", "team.yaml", "--output", "runs/team");
    const trace = await traceOf("runs/team");
    expect(trace).toContain("Definition");
    expect((await weightsOf("runs/team/model/aux")).equals(await weightsOf("runs/team/model/main"))).toBe(false);
  });

  test("is evaluated as a team, and compared with the base", async () => {
    const evaluate = ["eval", "--env", "code", ...set, "--split", "test[:2]", ...few];
    await run(...evaluate, "--model", "runs/team/model", "--output", "runs/eval-team");
    await run(...evaluate, "--model", smollm2, "--output", "runs/eval-base");
    const apart = ["--model", "aux=runs/team/model/aux", "--model", "main=runs/team/model/main"];
    await run(...evaluate, ...apart, "--output", "runs/eval-apart");
    const { stdout } = await run("compare", "runs/eval-base", "runs/eval-team");
    expect(stdout).toMatch(/2 tasks/);
    // The same weights under the same seed give the same episodes, however the team is named.
    const whole = await run("compare", "runs/eval-team", "runs/eval-apart", "--json");
    expect(JSON.parse(whole.stdout)).toMatchObject({ wins: 0, losses: 0 });
  });

  test("collects as a team, and goes on training from it", async () => {
    const collect = ["collect", "--env", "code", ...set, "--split", "test[16:18]", ...few];
    await run(...collect, "--model", "runs/team/model", "--output", "played.jsonl");
    const rows = (await readFile(join(folder, "played.jsonl"), "utf8")).trim().split("\n");
    const agents = rows.map((row) => (JSON.parse(row) as { agent: string }).agent);
    expect(new Set(agents)).toEqual(new Set(["aux", "main"]));

    const more = ["--set", "model.path=runs/team/model", "--set", "training.steps=1"];
    await run("train", "--config", "team.yaml", ...more, "--output", "runs/more");
    for (const agent of ["aux", "main"]) {
      const before = await weightsOf(`runs/team/model/${agent}`);
      expect((await weightsOf(`runs/more/model/${agent}`)).equals(before), agent).toBe(false);
    }
  });

  test("trains one agent beside a frozen partner", async () => {
    const frozen = ["--set", "agents.policies.aux=runs/team/model/aux", "--set", "training.steps=2"];
    await run("train", "--config", "team.yaml", ...frozen, "--output", "runs/frozen");
    const trace = await traceOf("runs/frozen");
    expect(trace).toContain("runs/team/model/aux");
    expect(existsSync(join(folder, "runs/frozen/model/aux"))).toBe(false);
  });

  test("is exported merged, with the logits of transformers", async () => {
    await run("export", "runs/team/model", "--merged", "--output", "merged");
    const renderer = await loadRenderer(smollm2);
    const ids = renderer.start({ messages: [textMessage("user", "Write a function that adds two numbers.")] });
    await using backend = await createOnnxBackend({ device: "cpu" });
    for (const agent of ["aux", "main"]) {
      const checkpoint = join(folder, "merged", agent);
      const [reference] = await forwardReference([{ checkpoint, ids: [ids] }]);
      const path = join(folder, "runs/team/model", agent);
      const model = await backend.openModel({ source: { type: "pretrained", path }, trainable: { type: "frozen" } });
      expect(largestDifference(await readLogits(model, ids), reference!.logits[0]!), agent).toBeLessThanOrEqual(1e-4);
      await model.close();
    }
  });
});
