import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { repository, runProgram } from "./run-program.ts";

const halving = join(repository, "examples/agents/halving-player.ts");

test("halving-player.ts plays by its path, and with its option by a policy file", async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, "careless.yaml"), `model: ${halving}\nname: careless\ncareless: 1\n`);
  const evaluate = async (model: string, output: string): Promise<number> => {
    const { code, stderr } = await runProgram(join(repository, "cli/main.ts"), {
      folder,
      arguments: ["eval", "--env", "number-guessing", "--limit", "10", "--model", model, "--output", output],
    });
    expect(stderr).toBe("");
    expect(code).toBe(0);
    return (await readSummary(join(folder, output))).metrics.reward!.value!;
  };
  expect(await evaluate(halving, "halving")).toBe(1);
  expect(await evaluate("careless.yaml", "careless")).toBeLessThan(0.9);
  expect((await readManifest(join(folder, "careless"))).identity).toMatchObject({
    models: { agent: "careless" },
    modelOptions: { careless: { model: halving, careless: 1 } },
  });
});
