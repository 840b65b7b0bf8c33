import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "../files/make-folder.ts";
import { type HubFileInfo, patientFetch } from "./hub-client.ts";
import { unavailable } from "./hub-error.ts";
import type { HubFile, HubSettings } from "./hub-options.ts";

/** The number of consecutive attempts without new bytes after which a transfer fails. */
const maximumAttempts = 3;

/**
 * Downloads the content of a file to `path`. The file appears there only when it is complete and its checksum matches.
 * A broken transfer is resumed. Received bytes stay in `<path>.incomplete` for the next call.
 */
export async function downloadBlob(
  file: HubFile,
  info: HubFileInfo,
  path: string,
  settings: HubSettings,
): Promise<void> {
  await makeFolder(dirname(path));
  const shared = `${path}.incomplete`;
  const own = `${path}.${randomUUID()}.incomplete`;
  // Renaming the partial file prevents two processes from writing to the same file.
  await rename(shared, own).catch(() => undefined);
  try {
    await transfer(file, info, own, settings);
    if ((await checksumOf(own, info)) !== info.etag) {
      await rm(own, { force: true });
      throw unavailable(file, "the received content does not match its checksum");
    }
    await rename(own, path);
  } catch (error) {
    await rename(own, shared).catch(() => undefined);
    throw error;
  }
}

async function transfer(file: HubFile, info: HubFileInfo, path: string, settings: HubSettings): Promise<void> {
  await using target = await open(path, "a+");
  let have = (await target.stat()).size;
  if (have > info.size) have = await truncate(target);
  for (let attempt = 1; have < info.size; attempt++) {
    const before = have;
    let failure: unknown = new Error(`the connection closed after ${have} of ${info.size} bytes`);
    try {
      await receive(info, target, have, settings);
    } catch (error) {
      settings.signal?.throwIfAborted();
      if ((error as { readonly statusCode?: number }).statusCode !== undefined) throw error;
      failure = error;
    }
    have = (await target.stat()).size;
    if (have > info.size) {
      await truncate(target);
      throw unavailable(file, "the hub sent more bytes than it announced");
    }
    if (have > before) attempt = 0;
    else if (attempt >= maximumAttempts) throw failure;
  }
}

/** Sends one request and appends its body from byte `from`. Aborts if no byte arrives for `timeoutMs`. */
async function receive(info: HubFileInfo, target: FileHandle, from: number, settings: HubSettings): Promise<void> {
  const silence = new AbortController();
  const timer = setTimeout(
    () => silence.abort(new Error(`no byte arrived for ${settings.timeoutMs} ms`)),
    settings.timeoutMs,
  );
  const signal = settings.signal === undefined ? silence.signal : AbortSignal.any([settings.signal, silence.signal]);
  try {
    const response = await patientFetch(settings, signal)(info.url, {
      headers: {
        "accept-encoding": "identity",
        ...(from === 0 ? {} : { range: `bytes=${from}-` }),
        ...(settings.token === undefined ? {} : { authorization: `Bearer ${settings.token}` }),
      },
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw Object.assign(new Error(`the hub answered ${response.status}`), { statusCode: response.status });
    }
    let have = from;
    if (from > 0 && !response.headers.get("content-range")?.startsWith(`bytes ${from}-`)) have = await truncate(target);
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      await target.appendFile(chunk);
      have += chunk.length;
      if (have > info.size) return;
    }
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

async function truncate(target: FileHandle): Promise<0> {
  await target.truncate(0);
  return 0;
}

async function checksumOf(path: string, info: HubFileInfo): Promise<string> {
  const hash = createHash(info.checksum === "git" ? "sha1" : "sha256");
  if (info.checksum === "git") hash.update(`blob ${info.size}\0`);
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}
