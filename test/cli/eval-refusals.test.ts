import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { compareCommand } from "../../cli/compare-command.ts";
import { createProgram } from "../../cli/create-program.ts";
import { evalCommand } from "../../cli/eval-command.ts";
import { checkThresholds, parseThresholds } from "../../cli/eval-thresholds.ts";
import { exitCodeOf } from "../../cli/exit-code.ts";
import { rescoreCommand } from "../../cli/rescore-command.ts";
import type { LyceumError } from "../../src/contract/errors/index.ts";
import { evaluated, temporaryFolder } from "../evaluation/answer-environment.ts";
import { evalFolder } from "./eval-folder.ts";

/** Runs a command line in this process, and returns its error. */
async function thrownBy(words: string): Promise<unknown> {
  const nothing = async (): Promise<void> => {};
  const options = { catalog: await openCatalog(), output: { write: () => true }, signal: new AbortController().signal };
  const program = createProgram(
    {
      ...{
        train: nothing,
        report: nothing,
        init: nothing,
        check: nothing,
        play: nothing,
        collect: nothing,
        view: nothing,
        capture: nothing,
        exportPython: nothing,
        exportHarbor: nothing,
        serve: nothing,
        serveModel: nothing,
        plan: nothing,
        migrate: nothing,
        export: nothing,
        info: nothing,
        setupTorch: nothing,
        torchNode: nothing,
      },
      eval: (args) => evalCommand(args, options),
      compare: (args) => compareCommand(args, options.output),
      rescore: (args) => rescoreCommand(args, options),
    } as Parameters<typeof createProgram>[0],
    { version: "1" },
  );
  for (const command of [program, ...program.commands]) command.configureOutput({ writeErr: () => {} });
  return program.parseAsync(words.split(" "), { from: "user" }).then(
    () => undefined,
    (error: unknown) => error,
  );
}

it.each([
  ["eval -m demonstration -o OUT", "There is nothing to evaluate"],
  ["eval gsm9k -m demonstration -o OUT", 'Unknown benchmark "gsm9k"'],
  ["eval ./own.ts -m demonstration -o OUT", '"./own.ts" is not a benchmark'],
  ["eval number-guessing -m demonstration -o OUT", '"number-guessing" is not a benchmark'],
  ["eval gsm8k -e math -m demonstration -o OUT", "exclude each other"],
  ["eval gsm8k gsm8k -m demonstration -o OUT", "named twice"],
  ["eval humaneval -m demonstration -o OUT --shots 3", "worked examples"],
  ["eval classeval -m demonstration -o OUT --format completion", 'no format "completion"'],
  ["eval -e math --format chat -m demonstration -o OUT", "are only for benchmarks"],
  ["eval -e ENV -m demonstration -o OUT -k 1,5", "pass@5"],
  ["eval -e ENV -m demonstration -o OUT -k 0", "Expected whole numbers"],
  ["eval -e ENV -m demonstration -o OUT --price 3", "Expected two prices"],
  ["eval -e ENV -m demonstration -o OUT --min accuracy", "not a threshold"],
  ["eval -e ENV -m demonstration --opponent demonstration -o OUT", "no agent for the opponent"],
  ["eval win-rate -m demonstration -o OUT", "needs a judge"],
  ["eval debate -m a/b -o OUT -M maxRetries=2", '"maxRetries" is not an option of the model a/b'],
  ["eval debate -m http://h/v1#m -o OUT -M timeout=2", 'unknown key "timeout"'],
  ["eval debate -m demonstration --opponent a/b --opponent a/b -o OUT", "Two players are called a/b"],
  ["eval debate -m nowhere.yaml -o OUT", "There is no config file nowhere.yaml"],
  ["eval debate -m demonstration --opponent nowhere.json -o OUT", "There is no config file nowhere.json"],
  ["eval -e ENV -o OUT", "--model"],
  ["compare nowhere here", "There is no folder nowhere"],
  ["compare TRAINING nowhere", "There is no folder nowhere"],
  ["rescore nowhere -o OUT", "There is no nowhere"],
])("%j is refused, and nothing is begun", async (words, text) => {
  const folder = await evalFolder();
  const filled = words
    .replace("OUT", join(folder, "a"))
    .replace("ENV", join(folder, "uneven.ts"))
    .replace("TRAINING", folder);
  await writeFile(join(folder, "metrics.jsonl"), "");
  const error = (await thrownBy(filled)) as LyceumError;
  expect(error.message).toContain(text);
  if (/benchmark "|not a benchmark/.test(text)) expect(error.hint).toContain("--env");
  expect(exitCodeOf(error)).toBe(2);
  expect(existsSync(join(folder, "a/index.jsonl"))).toBe(false);
});

it("thresholds with an unknown metric are named, and thresholds fail if nothing was scored", async () => {
  const summary = await evaluated([["1"], ["0"]], { folder: await temporaryFolder() });
  expect(() => checkThresholds(summary, parseThresholds(["acuracy=1"], "min"))).toThrow(
    expect.objectContaining({ code: "config.unknown-name", hint: expect.stringContaining('"accuracy"') }),
  );
  expect(() => checkThresholds(summary, parseThresholds(["accuracy=0.5", "pass@1=0.5"], "min"))).not.toThrow();
  expect(() => checkThresholds(summary, parseThresholds(["accuracy=0.51"], "min"))).toThrow("at least 0.51");
  const nothing = await evaluated([["throw"]], { folder: await temporaryFolder() });
  expect(() => checkThresholds(nothing, parseThresholds(["accuracy=0"], "min"))).toThrow("nothing was scored");
});
