import { existsSync } from "node:fs";
import { type FileHandle, open, readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { LyceumError } from "../contract/errors/index.ts";
import { writeFailed } from "../contract/errors/write-failed.ts";
import type { Json } from "../contract/json.ts";
import { replaceFile } from "../core/files/replace-file.ts";
import { lockFile } from "../core/files/run-lock.ts";
import { withoutSecretValues } from "../core/text/url-secrets.ts";
import { fileSize } from "../core/trace/file-size.ts";
import type { CollectArguments } from "./create-program.ts";
import { setOptions } from "./named-environment.ts";
import { limitsOf, samplingOf } from "./sampling-options.ts";

/** What a collection has come to so far. */
export interface CollectCounts {
  episodes: number;
  /** Conversations that are in the file, and those that earned too little. */
  written: number;
  below: number;
  /** Episodes in which an agent was not scored, and those that failed. */
  unscored: number;
  failed: number;
  /** Conversations that were scored, and the sum of their rewards. */
  scored: number;
  rewards: number;
}

const count = z.int().min(0);

const countsSchema: z.ZodType<CollectCounts> = z.strictObject({
  episodes: count,
  written: count,
  below: count,
  unscored: count,
  failed: count,
  scored: count,
  rewards: z.number(),
});

const progressSchema = z.strictObject({
  settings: z.record(z.string(), z.json()),
  tasks: count,
  bytes: count,
  counts: countsSchema,
});

/** How far a collection is: what was played, and how much of the file that made. */
export interface CollectProgress {
  /** Whole tasks that are played, from the first on. */
  tasks: number;
  /** Bytes of the output that they make. */
  bytes: number;
  readonly counts: CollectCounts;
}

/** A collection's output with the file beside it that says how far it is. */
export interface Collection extends AsyncDisposable {
  readonly progress: CollectProgress;
  /**
   * Adds the lines of the next task, and its counts once they are written. The file beside is written at most once a
   * second. Throws `trace.write-failed`.
   */
  add(task: { readonly lines: string; readonly counts: CollectCounts }): Promise<void>;
}

/** How long the file beside the output may lag behind it; what was played since is played again. */
const saveMs = 1_000;

/**
 * Opens the output of a collection, for a new one or to go on. What stands behind the progress (a line that was cut
 * off, tasks that were not counted) is cut away: those tasks are played again, by the same seeds. Throws
 * `config.invalid` for a file that another process writes, and for one to be resumed that is of other settings, or has
 * lost its progress; `trace.write-failed` for one that cannot be written.
 */
export async function openCollection(args: CollectArguments): Promise<Collection> {
  const path = args.output;
  const beside = `${path}.progress`;
  const settings = settingsOf(args);
  await using resources = new AsyncDisposableStack();
  resources.use(await lockFile(path));
  refuseExisting(args);
  // A kill between the making of the two files leaves an empty one.
  const goesOn = existsSync(path) && ((await fileSize(path)) > 0 || existsSync(beside));
  const progress = goesOn ? await readProgress(path, settings) : beginning();
  /** What the system refuses becomes an error that names the file. */
  const writing = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw writeFailed({ path, cause, hint: "Then go on with --resume; the lines written before are intact." });
    }
  };
  const file = resources.use(await writing(open(path, goesOn ? "r+" : args.resume ? "w" : "wx")));
  /** The file itself is on the disk before what says how long it is. */
  const save = async (): Promise<void> => {
    await writing(file.datasync());
    await replaceFile(beside, `${JSON.stringify({ settings, ...progress })}\n`);
  };
  await writing(cutTo(file, progress.bytes, path));
  await save();
  let failed = false;
  resources.defer(async () => {
    // What could not be written is known by then.
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

/** Writes lines from a place on, whole or not at all, and returns their bytes. */
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

/** All counts at 0. */
export function noCounts(): CollectCounts {
  return { episodes: 0, written: 0, below: 0, unscored: 0, failed: 0, scored: 0, rewards: 0 };
}

/** Throws `config.invalid` where the output exists and is not to be gone on with. */
export function refuseExisting({ output: path, resume }: Pick<CollectArguments, "output" | "resume">): void {
  if (resume || !existsSync(path)) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} exists already.`,
    hint: "Go on with it by --resume, name another --output, or move the file out of the way.",
    data: { path },
  });
}

function beginning(): CollectProgress {
  return { tasks: 0, bytes: 0, counts: noCounts() };
}

/** What decides which lines are written, and in which order. */
function settingsOf(args: CollectArguments): Readonly<Record<string, Json>> {
  const { env, set, policy, model, base, split, group, minReward, temperature, maxTokens, seed } = args;
  const options = setOptions(set);
  const shown = withoutSecretValues(options);
  const named = {
    ...{
      env,
      set: isDeepStrictEqual(options, shown) ? [...set] : shown,
      policy,
      model: model === undefined ? null : [...model],
      base: base ?? null,
      split: split ?? null,
      group,
    },
    ...{ minReward: minReward ?? null, temperature, maxTokens, seed },
    modelOption: args.modelOption.length === 0 ? null : [...args.modelOption],
    sampling: someOf({ ...samplingOf(args) }),
    limits: someOf({ ...limitsOf(args) }),
  };
  return withoutSecretValues(named) as Readonly<Record<string, Json>>;
}

/** Null for nothing: files of earlier versions do not have it. */
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
      message: `There is nothing to go on from: ${path}.progress is missing or broken.`,
      hint: "Name another --output.",
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
    hint: "Go on with the same arguments (--episodes and --concurrency may differ), or name another --output.",
    data: { path },
  });
}

async function cutTo(file: FileHandle, bytes: number, path: string): Promise<void> {
  const { size } = await file.stat();
  if (size >= bytes) return file.truncate(bytes);
  throw new LyceumError({
    code: "config.invalid",
    message: `The file ${path} is shorter than what was collected: ${size} of ${bytes} bytes.`,
    hint: "Name another --output.",
    data: { path },
  });
}
