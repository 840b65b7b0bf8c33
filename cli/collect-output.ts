import { existsSync } from "node:fs";
import { type FileHandle, open, readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { LyceumError } from "../src/contract/errors/index.ts";
import { writeFailed } from "../src/contract/errors/write-failed.ts";
import type { Json } from "../src/contract/json.ts";
import { replaceFile } from "../src/core/files/replace-file.ts";
import { lockFile } from "../src/core/files/run-lock.ts";
import { withoutSecretValues } from "../src/core/text/secrets.ts";
import { fileSize } from "../src/core/trace/file-size.ts";
import type { CollectArguments } from "./create-program.ts";
import { setOptions } from "./named-environment.ts";
import { limitsOf, samplingOf } from "./sampling-options.ts";

const count = z.int().min(0);

const countsSchema = z.strictObject({
  episodes: count,
  /** The number of conversations in the file, and of those below the minimum reward. */
  written: count,
  below: count,
  /** The number of episodes with an unscored agent, and of failed episodes. */
  unscored: count,
  failed: count,
  /** The number of scored conversations, and the sum of their rewards. */
  scored: count,
  rewards: z.number(),
});

/** The counts of a collection so far. */
export type CollectCounts = z.output<typeof countsSchema>;

const progressSchema = z.strictObject({
  settings: z.record(z.string(), z.json()),
  tasks: count,
  bytes: count,
  counts: countsSchema,
});

/** The progress of a collection. */
export interface CollectProgress {
  /** The number of complete tasks, from the first on. */
  tasks: number;
  /** The bytes of output from these tasks. */
  bytes: number;
  readonly counts: CollectCounts;
}

/** The output of a collection, and the progress file next to it. */
export interface Collection extends AsyncDisposable {
  readonly progress: CollectProgress;
  /**
   * Adds the lines of the next task, and its counts after they are written. The progress file is updated at most once
   * per second. Throws `trace.write-failed`.
   */
  add(task: { readonly lines: string; readonly counts: CollectCounts }): Promise<void>;
}

/** The maximum age of the progress file in milliseconds. Later tasks are played again after a crash. */
const saveMs = 1_000;

/**
 * Opens the output of a new or resumed collection. Everything after the recorded progress (an incomplete line,
 * uncounted tasks) is removed, and these tasks are played again with the same seeds. Throws `config.invalid` if another
 * process writes the file, or if a resumed file has other settings or no progress. Throws `trace.write-failed` if it
 * cannot be written.
 */
export async function openCollection(args: CollectArguments): Promise<Collection> {
  const path = args.output;
  const progressPath = `${path}.progress`;
  const settings = settingsOf(args);
  await using resources = new AsyncDisposableStack();
  resources.use(await lockFile(path));
  refuseOutput(args);
  // A kill between the creation of the two files leaves an empty output file.
  const goesOn = existsSync(path) && ((await fileSize(path)) > 0 || existsSync(progressPath));
  const progress = goesOn ? await readProgress(path, settings) : beginning();
  /** Adds the name of the file to errors of the operating system. */
  const writing = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw writeFailed({ path, cause, hint: "Then continue with --resume. The lines written before are intact." });
    }
  };
  const file = resources.use(await writing(open(path, goesOn ? "r+" : args.resume ? "w" : "wx")));
  /** Flushes the output to the disk before the progress file, which contains its length. */
  const save = async (): Promise<void> => {
    await writing(file.datasync());
    await replaceFile(progressPath, `${JSON.stringify({ settings, ...progress })}\n`);
  };
  await writing(cutTo(file, progress.bytes, path));
  await save();
  let failed = false;
  resources.defer(async () => {
    // `failed` is set by now if a write failed.
    await (failed ? save().catch(() => undefined) : save());
  });
  const owned = resources.move();
  let saved = performance.now();
  return {
    progress,
    add: async ({ lines, counts }) => {
      try {
        progress.bytes += await writing(appendWhole(file, { at: progress.bytes, lines }));
        progress.tasks += 1;
        for (const [key, value] of Object.entries(counts)) progress.counts[key as keyof CollectCounts] += value;
        if (performance.now() - saved < saveMs) return;
        await save();
        saved = performance.now();
      } catch (error) {
        failed = true;
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Writes lines at a position completely or not at all. Returns their length in bytes. */
async function appendWhole(
  file: FileHandle,
  { at, lines }: { readonly at: number; readonly lines: string },
): Promise<number> {
  const bytes = Buffer.from(lines);
  try {
    for (let done = 0; done < bytes.length; ) {
      done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
    }
    return bytes.length;
  } catch (error) {
    await file.truncate(at).catch(() => undefined);
    throw error;
  }
}

/** Returns counts of 0. */
export function noCounts(): CollectCounts {
  return { episodes: 0, written: 0, below: 0, unscored: 0, failed: 0, scored: 0, rewards: 0 };
}

/** Throws `config.invalid` if the output has the name of another format, or if it exists and `resume` is not set. */
export function refuseOutput({ output: path, resume }: Pick<CollectArguments, "output" | "resume">): void {
  if (/\.(?:parquet|gz)$|\{split\}/i.test(path)) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The file ${path} would not be read as what it contains: one conversation per line, in JSON.`,
      hint: "Choose an --output such as good.jsonl, whose name does not end in .parquet or .gz and has no {split}.",
      data: { path },
    });
  }
  if (resume || !existsSync(path)) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} exists already.`,
    hint: "Continue it with --resume, choose another --output, or move the file away.",
    data: { path },
  });
}

function beginning(): CollectProgress {
  return { tasks: 0, bytes: 0, counts: noCounts() };
}

/** Returns the settings that determine which lines are written, and in which order. */
function settingsOf(args: CollectArguments): Readonly<Record<string, Json>> {
  const { env, set, policy, model, base, split, group, minReward, temperature, maxTokens, seed } = args;
  const options = setOptions(set);
  const shown = withoutSecretValues(options);
  const named = {
    env,
    set: isDeepStrictEqual(options, shown) ? [...set] : shown,
    policy,
    model: model === undefined ? null : [...model],
    base: base ?? null,
    split: split ?? null,
    group,
    minReward: minReward ?? null,
    temperature,
    maxTokens,
    seed,
    modelOption: args.modelOption.length === 0 ? null : [...args.modelOption],
    quantize: args.quantize ?? null,
    sampling: someOf({ ...samplingOf(args) }),
    limits: someOf({ ...limitsOf(args) }),
  };
  return withoutSecretValues(named) as Readonly<Record<string, Json>>;
}

/** Returns null for empty settings, because files of earlier versions do not have them. */
function someOf(settings: Readonly<Record<string, Json>>): Json {
  return Object.keys(settings).length === 0 ? null : settings;
}

async function readProgress(path: string, settings: ReturnType<typeof settingsOf>): Promise<CollectProgress> {
  let read: z.output<typeof progressSchema>;
  try {
    read = progressSchema.parse(JSON.parse(await readFile(`${path}.progress`, "utf8")));
  } catch (error) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The collection cannot be resumed: ${path}.progress is missing or broken.`,
      hint: "Choose another --output.",
      data: { path },
      cause: error,
    });
  }
  const other = Object.keys(settings).filter((key) => !isDeepStrictEqual(settings[key], read.settings[key] ?? null));
  if (other.length === 0) return { tasks: read.tasks, bytes: read.bytes, counts: read.counts };
  const shown = other.map((key) => `${key} was ${JSON.stringify(read.settings[key] ?? null)}`);
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} was collected in another way: ${shown.join(", ")}.`,
    hint: "Use the same arguments (--episodes and --concurrency may differ), or choose another --output.",
    data: { path },
  });
}

async function cutTo(file: FileHandle, bytes: number, path: string): Promise<void> {
  const { size } = await file.stat();
  if (size >= bytes) return file.truncate(bytes);
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} is shorter than what was collected: ${size} of ${bytes} bytes.`,
    hint: "Choose another --output.",
    data: { path },
  });
}
