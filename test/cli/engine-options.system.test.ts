import { expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";

const remote = "http://127.0.0.1:9/v1#model";

it.each([
  ["eval gsm8k --set path=. --limit 1 -m %model --quantize 8", "--quantize is"],
  ["eval --env number-guessing --limit 1 -m demonstration --device cpu", "--device is"],
  ["play number-guessing --quantize 4", "--quantize is"],
  ["collect --env number-guessing --episodes 1 -o out.jsonl -m demonstration --quantize 8", "--quantize is"],
  ["capture -m %model --device cpu --quantize 8", "--device and --quantize are"],
  ["serve --environments number-guessing --backend torch", "--backend is"],
])("%s: refuses options of an engine that runs no model", async (words, message) => {
  const folder = await temporaryFolder();
  const { code, stderr } = await runInProcess(words.replace("%model", remote).split(" "), { folder });
  expect(stderr).toContain(`error[config.invalid]: ${message} for local models, and no model of this command is one.`);
  expect(code).toBe(2);
});
