import { onTestFinished } from "vitest";
import { folderSource } from "../../../reports/viewer/folder-source.ts";
import { serveView, type ViewServer } from "../../../reports/viewer/server.ts";
import type { ViewSource } from "../../../reports/viewer/view-source.ts";

/** The server of a source, with a page of a few words. It closes when the test ends. */
export async function served(source: ViewSource): Promise<ViewServer> {
  const server = await serveView({ source, page: { script: "/* the script */", style: "/* the style */" } });
  onTestFinished(() => server.close());
  return server;
}

/** The server of a folder. */
export function servedFolder(folder: string): Promise<ViewServer> {
  return served(folderSource(folder));
}
