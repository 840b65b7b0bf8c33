import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { exportFile } from "../reports/viewer/export-file.ts";
import { folderSource } from "../reports/viewer/folder-source.ts";
import { type PageFiles, readPageFiles } from "../reports/viewer/page-files.ts";
import { serveView } from "../reports/viewer/server.ts";
import type { ViewSource } from "../reports/viewer/view-source.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { aborted } from "../src/core/concurrency/aborted.ts";
import { replaceFile } from "../src/core/files/replace-file.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { loadTokenizer } from "../src/core/tokens/huggingface-tokenizer.ts";
import type { Tokenizer } from "../src/core/tokens/tokenizer.ts";
import type { ViewArguments } from "./view-program.ts";

/** The time in milliseconds that a page waits for the index of a long log before it shows a part. */
const patienceMs = 400;

/** Runs `lyceum view`: serves the runs of a folder until the signal aborts, or writes one of them to a file. */
export async function viewCommand(
  args: ViewArguments,
  options: {
    readonly output: { write(text: string): unknown };
    readonly signal: AbortSignal;
    /** The files of the page. From {@link readPageFiles} by default. */
    readonly page?: PageFiles;
  },
): Promise<void> {
  const { folder, port } = args;
  const { output, signal } = options;
  if (!(await isFolder(folder))) throw noFolder(folder);
  const page = options.page ?? (await readPageFiles());
  const tokenizerOf = await tokenizers(args.tokenizer);
  // An exported file contains everything. A page shows what is read so far.
  const source = folderSource(folder, { tokenizerOf, ...(args.export === undefined ? { patienceMs } : {}) });
  if (args.export !== undefined) {
    const path = await writeExport({ args, file: args.export, source, page, signal });
    output.write(`${visibleText(path)}\n`);
    return;
  }
  await using server = await serveView({ source, page, port });
  output.write(`${visibleText(folder)} is shown at ${server.url} (Ctrl-C ends)\n`);
  if (args.open) openBrowser(server.url);
  await aborted(signal);
}

async function writeExport(options: {
  readonly args: ViewArguments;
  readonly file: string;
  readonly source: ViewSource;
  readonly page: PageFiles;
  readonly signal: AbortSignal;
}): Promise<string> {
  const { args, file, source, page, signal } = options;
  const { runs } = await source.runs(signal);
  const [run] = runs;
  if (run === undefined) throw noFolder(args.folder);
  if (runs.length > 1) {
    throw new LyceumError({
      code: "config.invalid",
      message: `${args.folder} has ${runs.length} runs, but a file contains one.`,
      hint: `Name the folder of one, such as ${join(args.folder, run.path)}.`,
    });
  }
  const text = await exportFile({ source, path: run.path, page, episodes: args.episodes, signal });
  await replaceFile(file, text, { code: "report.write-failed" });
  return file;
}

/**
 * Returns a function that loads the tokenizer of a model with a local folder, or the given one for all models.
 * Tokenizers are loaded on first use.
 */
async function tokenizers(named: string | undefined): Promise<(model: string) => Promise<Tokenizer | undefined>> {
  if (named !== undefined) {
    const tokenizer = await loadTokenizer(named);
    return async () => tokenizer;
  }
  const loaded = new Map<string, Promise<Tokenizer | undefined>>();
  return (model) => {
    const known = loaded.get(model);
    if (known !== undefined) return known;
    const folder = [model, join(model, "model")].find((path) => existsSync(join(path, "tokenizer.json")));
    // The folder may appear later, because a training writes its model at its end.
    if (folder === undefined) return Promise.resolve(undefined);
    // A missing tokenizer is not an error: the text is then shown without token colours.
    const loading = loadTokenizer(folder).catch(() => undefined);
    loaded.set(model, loading);
    return loading;
  };
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function noFolder(folder: string): LyceumError {
  return new LyceumError({
    code: "data.not-found",
    message: `There are no runs in ${folder}.`,
    hint: "Use the folder of an evaluation or a training, or a folder that contains such folders.",
    data: { path: folder },
  });
}

function openBrowser(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["explorer", url]
        : ["xdg-open", url];
  // Without a browser, the address is still printed on the terminal.
  spawn(command!, args, { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
