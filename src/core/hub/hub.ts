import { LyceumError } from "../../contract/errors/index.ts";
import { downloadBlob } from "./download-blob.ts";
import {
  blobPath,
  exists,
  linkSnapshot,
  listSnapshot,
  readListing,
  readReference,
  repositoryFolder,
  snapshotPath,
  writeListing,
  writeReference,
} from "./hub-cache.ts";
import { fetchCommit, fetchFileInfo, fetchListing } from "./hub-client.ts";
import { hubError, unavailable } from "./hub-error.ts";
import {
  checkHubNames,
  type HubFile,
  type HubOptions,
  type HubRepository,
  type HubSettings,
  hubSettings,
} from "./hub-options.ts";

export type { HubFile, HubOptions, HubRepository } from "./hub-options.ts";

/**
 * Returns the local path of a hub file. Downloads it if it is not in the cache. A branch or tag is looked up in each
 * call. If the hub cannot be reached, its last known commit is used. A commit hash that is in the cache needs no
 * request. Throws `data.not-found` or `data.unavailable`. Never returns a partial file.
 */
export async function downloadHubFile(file: HubFile, options?: HubOptions): Promise<string> {
  checkHubNames(file);
  const settings = hubSettings(options);
  const folder = repositoryFolder(settings.cacheFolder, file);
  const commit = await resolveCommit(file, folder, settings);
  const path = snapshotPath(folder, commit, file.path);
  if (!(await exists(path))) await fill(file, commit, folder, settings);
  return path;
}

/**
 * Returns the sorted paths of all files of a repository. If the hub cannot be reached, returns the stored list, or else
 * the files in the cache.
 */
export async function listHubFiles(repository: HubRepository, options?: HubOptions): Promise<string[]> {
  checkHubNames(repository);
  const settings = hubSettings(options);
  const folder = repositoryFolder(settings.cacheFolder, repository);
  const commit = await resolveCommit(repository, folder, settings);
  const remembered = await readListing(folder, commit);
  if (remembered !== undefined) return remembered;
  return orElse(
    async () => {
      const paths = await fetchListing(repository, commit, online(repository, settings));
      await writeListing(folder, commit, paths).catch(ignoreReadOnlyCache);
      return paths;
    },
    () => listSnapshot(folder, commit),
  );
}

/**
 * Returns the commit hash of a repository's revision. Use it to get all files from the same commit, and cached files
 * without a request.
 */
export async function resolveHubRevision(repository: HubRepository, options?: HubOptions): Promise<string> {
  checkHubNames(repository);
  const settings = hubSettings(options);
  return resolveCommit(repository, repositoryFolder(settings.cacheFolder, repository), settings);
}

async function resolveCommit(target: HubRepository, folder: string, settings: HubSettings): Promise<string> {
  const revision = target.revision ?? "main";
  if (/^[0-9a-f]{40}$/.test(revision)) return revision;
  return orElse(
    async () => {
      const commit = await fetchCommit(target, online(target, settings));
      await writeReference(folder, revision, commit).catch(ignoreReadOnlyCache);
      return commit;
    },
    () => readReference(folder, revision),
  );
}

/** A cache that cannot be written must not fail the current call. */
function ignoreReadOnlyCache(): void {}

async function fill(file: HubFile, commit: string, folder: string, settings: HubSettings): Promise<void> {
  const info = await fetchFileInfo(file, commit, online(file, settings));
  if (info === undefined) {
    throw hubError(Object.assign(new Error("no such path"), { statusCode: 404 }), file);
  }
  const blob = blobPath(folder, info.etag);
  try {
    if (!(await exists(blob))) await downloadBlob(file, info, blob, settings);
    await linkSnapshot(folder, commit, file, info.etag);
  } catch (error) {
    throw hubError(error, file, settings.signal);
  }
}

function online(target: HubRepository, settings: HubSettings): HubSettings {
  if (settings.offline) throw unavailable(target, "it is not in the cache, and HF_HUB_OFFLINE is set");
  return settings;
}

/** Returns the hub's answer, or the cached result if the hub cannot be reached. */
async function orElse<Result>(ask: () => Promise<Result>, recall: () => Promise<Result | undefined>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    const remembered = LyceumError.isInstance(error) && error.code === "data.unavailable" ? await recall() : undefined;
    if (remembered === undefined) throw error;
    return remembered;
  }
}
