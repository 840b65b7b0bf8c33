import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readMetrics } from "../../src/report/index.ts";
import { readTrace } from "../../src/trace/read-trace.ts";
import { lyceum } from "./run-lyceum.ts";

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-frozen-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

const config = (policies: string): string => `environment: { id: debate, rounds: 1 }
model: { scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength: 4096 }, device: cpu, threads: 1 }
algorithm: { id: magrpo, groupSize: 2 }
agents: { policies: ${policies} }
sampling: { maxTokens: 4 }
rollout: { trace: true }
training: { steps: 2, batchSize: 1, sampleEvery: 1 }
`;

test("a config assigns a frozen policy to an agent", async () => {
  const folder = await folderWith({
    "team.yaml": config("{ debater-2: 'scripted:answers.json' }"),
    "answers.json": '["One.", "Two."]',
  });
  const { code, stdout, stderr } = await lyceum(["train", "-c", "team.yaml"], { folder });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("debater-2: scripted:answers.json (frozen)");
  const output = join(folder, "runs", "team");
  const { events } = await readMetrics(join(output, "metrics.jsonl"));
  expect(events[0]).toMatchObject({ agents: { "debater-2": { policy: "scripted:answers.json", frozen: true } } });
  for await (const { agents } of readTrace(join(output, "trace.jsonl"))) {
    expect(agents["debater-2"]!.policy).toBe("scripted:answers.json");
  }
  expect(await readFile(join(output, "report.html"), "utf8")).toContain("debater-2: scripted:answers.json (frozen)");
});
