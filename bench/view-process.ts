import { createInterface } from "node:readline";
import { folderSource } from "../reports/viewer/folder-source.ts";
import { serveView } from "../reports/viewer/server.ts";

/*
 * Serves the given folder and prints its address. Then prints its resident memory, in megabytes, whenever it is asked.
 * The page itself is not measured. A request waits for a long log as long as in `lyceum view`.
 */
const server = await serveView({
  source: folderSource(process.argv[2]!, { patienceMs: 400 }),
  page: { script: "", style: "" },
});
console.log(server.url);
for await (const _ of createInterface({ input: process.stdin })) console.log(process.memoryUsage.rss() / 1e6);
