import { setTimeout as delay } from "node:timers/promises";
import { hubError } from "./hub-error.ts";
import type { HubFile, HubRepository, HubSettings } from "./hub-options.ts";

/** A file's metadata on the hub. */
export interface HubFileInfo {
  readonly size: number;
  /** The identifier of the content: the SHA-256 of a large file, the git object id of a small one. */
  readonly etag: string;
  readonly checksum: "sha256" | "git";
  readonly url: string;
}

/** Fetches the current commit of a revision. */
export async function fetchCommit(target: HubRepository, settings: HubSettings): Promise<string> {
  return request(target, settings, async (common) => {
    const { datasetInfo, modelInfo } = await import("@huggingface/hub");
    const parameters = {
      ...common,
      name: target.repository,
      revision: target.revision ?? "main",
      additionalFields: ["sha" as const],
    };
    const { sha } = target.type === "model" ? await modelInfo(parameters) : await datasetInfo(parameters);
    if (!/^[0-9a-f]{40}$/.test(sha)) throw new Error("the answer contains no commit");
    return sha;
  });
}

/** Fetches the sorted paths of all files of a repository at a commit. */
export async function fetchListing(target: HubRepository, commit: string, settings: HubSettings): Promise<string[]> {
  return request(target, settings, async (common) => {
    const { listFiles } = await import("@huggingface/hub");
    const paths: string[] = [];
    for await (const entry of listFiles({ ...common, repo: repo(target), revision: commit, recursive: true })) {
      if (entry.type === "file") paths.push(entry.path);
    }
    return paths.sort();
  });
}

/** Fetches the size, checksum and address of a file at a commit. Returns undefined if the file does not exist. */
export async function fetchFileInfo(
  file: HubFile,
  commit: string,
  settings: HubSettings,
): Promise<HubFileInfo | undefined> {
  return request(file, settings, async (common) => {
    const { HUB_URL, pathsInfo } = await import("@huggingface/hub");
    const answer = await pathsInfo({ ...common, repo: repo(file), revision: commit, paths: [file.path] });
    const info = answer.find(({ path, type }) => path === file.path && type === "file");
    if (info === undefined) return undefined;
    const etag = info.lfs?.oid ?? info.oid;
    if (etag === undefined || !/^[0-9a-f]{40,64}$/.test(etag)) throw new Error("the answer contains no content hash");
    const base = `${settings.hubUrl ?? HUB_URL}/${file.type === "dataset" ? "datasets/" : ""}${file.repository}`;
    return {
      size: info.lfs?.size ?? info.size,
      etag,
      checksum: info.lfs === undefined ? "git" : "sha256",
      url: `${base}/resolve/${commit}/${file.path.split("/").map(encodeURIComponent).join("/")}`,
    };
  });
}

/** Wraps fetch with two retries after status 429 or 500 and above. */
export function patientFetch(settings: HubSettings, signal: AbortSignal): typeof fetch {
  return async (input, init) => {
    for (let attempt = 0; ; attempt++) {
      const response = await settings.fetch(input, { ...init, signal });
      if ((response.status !== 429 && response.status < 500) || attempt === 2) return response;
      await response.body?.cancel();
      await delay(500 * 2 ** attempt, undefined, { signal });
    }
  };
}

interface CommonParameters {
  readonly fetch: typeof fetch;
  readonly hubUrl?: string;
  readonly accessToken?: string;
}

async function request<Result>(
  target: HubRepository & { readonly path?: string },
  settings: HubSettings,
  ask: (common: CommonParameters) => Promise<Result>,
): Promise<Result> {
  const silence = AbortSignal.timeout(settings.timeoutMs);
  const signal = settings.signal === undefined ? silence : AbortSignal.any([settings.signal, silence]);
  try {
    return await ask({ fetch: patientFetch(settings, signal), hubUrl: settings.hubUrl, accessToken: settings.token });
  } catch (error) {
    throw hubError(error, target, settings.signal);
  }
}

function repo({ type, repository }: HubRepository): { readonly type: "model" | "dataset"; readonly name: string } {
  return { type, name: repository };
}
