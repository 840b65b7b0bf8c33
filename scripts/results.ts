// Runs a row of docs/results.md and records it; `npm run docs` then writes the page.
//
//   npm run results -- run ROW [--seed 1] [--control] [--model PATH] [--data PATH] [--output FOLDER] [--resume] [--note TEXT]
//   npm run results -- record ROW [...]        records a run that was interrupted, as far as it came
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readRecord, recordName } from "./results/record.ts";
import { resultRows } from "./results/rows.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    control: { type: "boolean", default: false },
    model: { type: "string" },
    data: { type: "string" },
    output: { type: "string", default: "runs/results" },
    resume: { type: "boolean", default: false },
    note: { type: "string" },
  },
});
const [command, id] = positionals;
const row = resultRows.find((candidate) => candidate.id === id);
if (row === undefined || (command !== "run" && command !== "record")) {
  throw new Error(`Use: results run|record ROW, where ROW is ${resultRows.map((known) => known.id).join(", ")}.`);
}

const { control, model, data, note } = values;
const seed = Number(values.seed);
const repository = fileURLToPath(new URL("..", import.meta.url));
const config = `examples/results/${row.id}.yaml`;
const name = recordName({ row: row.id, seed, control });
const folder = join(values.output, name.replace(/\.json$/, ""));
// The config may change before the run is recorded.
const used = `${folder}.yaml`;
if (command === "run") {
  if (!values.resume) {
    await mkdir(values.output, { recursive: true });
    await copyFile(join(repository, config), used);
  }
  const changes = [
    `seed=${seed}`,
    ...(model === undefined ? [] : [`model.path=${JSON.stringify(model)}`]),
    ...(data === undefined ? [] : [`environment.path=${JSON.stringify(data)}`]),
    ...(control ? [`rewards=[{"type":"random"}]`] : []),
  ];
  const train = ["train", "--config", config, "--output", folder, ...changes.flatMap((change) => ["--set", change])];
  const started = spawn(
    process.execPath,
    ["--import", "./scripts/import-from-source.ts", "cli/main.ts", ...train, ...(values.resume ? ["--resume"] : [])],
    { cwd: repository, stdio: "inherit" },
  );
  // The training saves its progress when it is stopped. A terminal sends Ctrl-C to both processes.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => started.kill(signal));
  const [code] = (await once(started, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The training ended with code ${code}.`);
}
const record = await readRecord({
  row: row.id,
  seed,
  control,
  score: row.score,
  folder,
  config: await readFile(used, "utf8"),
  model,
  note,
});
await writeFile(join(repository, "examples/results/records", name), `${JSON.stringify(record)}\n`);
