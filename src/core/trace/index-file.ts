import { type FileHandle, open } from "node:fs/promises";
import type { LyceumError } from "../../contract/errors/index.ts";
import { writeFailed } from "../../contract/errors/write-failed.ts";
import type { TraceEntry } from "./trace-entry.ts";

/** Appends the lines of an index in order. */
export interface IndexFile extends AsyncDisposable {
  add(entry: TraceEntry): void;
  /** Throws `trace.write-failed` if a line could not be written. */
  check(): void;
  /** Waits until all lines are written. Rejects with `trace.write-failed` if a write failed. */
  close(): Promise<void>;
}

/** Opens an index to append to it. Does not check the existing lines: call `repairIndex` first. */
export async function openIndexFile(path: string): Promise<IndexFile> {
  const file = await open(path, "a").catch((cause: unknown) => {
    throw writeError(path, cause);
  });
  return indexFileOn(file, path);
}

function indexFileOn(file: FileHandle, path: string): IndexFile {
  let waiting = "";
  let failure: LyceumError | undefined;
  let draining: Promise<void> | undefined;
  let closed: Promise<void> | undefined;
  const drain = async (): Promise<void> => {
    while (waiting !== "" && failure === undefined) {
      const lines = waiting;
      waiting = "";
      await file.appendFile(lines).catch((cause: unknown) => {
        failure = writeError(path, cause);
      });
    }
    draining = undefined;
  };
  const check = (): void => {
    if (failure !== undefined) throw failure;
  };
  const close = async (): Promise<void> => {
    await draining;
    await file.close();
  };
  return {
    add: (entry) => {
      waiting += `${JSON.stringify(entry)}\n`;
      draining ??= drain();
    },
    check,
    close: async () => {
      closed ??= close();
      await closed;
      check();
    },
    [Symbol.asyncDispose]: async () => {
      closed ??= close();
      await closed;
    },
  };
}

function writeError(path: string, cause: unknown): LyceumError {
  const hint = "Then continue with --resume. The episodes written before are intact.";
  return writeFailed({ path, cause, what: `The index ${path}`, hint });
}
