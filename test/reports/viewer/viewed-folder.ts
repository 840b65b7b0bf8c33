import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { folderSource } from "../../../src/reports/viewer/folder-source.ts";
import { serveView, type ViewServer } from "../../../src/reports/viewer/server.ts";
import type { ViewSource } from "../../../src/reports/viewer/view-source.ts";

/** A new folder that goes when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-view-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A source's server, with a page of a few words, until the test ends. */
export async function served(source: ViewSource): Promise<ViewServer> {
  const server = await serveView({ source, page: { script: "/* the script */", style: "/* the style */" } });
  onTestFinished(() => server.close());
  return server;
}

/** A folder's server. */
export function servedFolder(folder: string): Promise<ViewServer> {
  return served(folderSource(folder));
}
