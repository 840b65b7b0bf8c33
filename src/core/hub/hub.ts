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
 * The local path of a hub file, downloaded unless the cache has it. A branch or tag is looked up at each call; when
 * the hub cannot be reached, the commit it was last seen at serves. A commit hash that is in the cache costs no
 * request. Throws `data.not-found` or `data.unavailable`; nothing half-written is ever served.
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
 * The paths of all files of a repository, sorted. When the hub cannot be reached: those that it told of before, else
 * the files that are in the cache.
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
 * The commit hash of a repository's revision. Ask for files at this hash to get all of them from one commit, and
 * cached ones without a request.
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

/** What helps later, without the hub, is not worth failing for now. */
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

/** What the hub answers, or when it cannot be reached, what the cache holds. */
async function orElse<Result>(ask: () => Promise<Result>, recall: () => Promise<Result | undefined>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    const remembered = LyceumError.isInstance(error) && error.code === "data.unavailable" ? await recall() : undefined;
    if (remembered === undefined) throw error;
    return remembered;
  }
}
