import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folders with this package's code. */
const root = fileURLToPath(new URL("../../../", import.meta.url));
const ownFolders = ["src", "environments", "trainers", "sandbox"].map((name) => path.join(root, name) + path.sep);

/**
 * Returns the line of the user's code that threw, such as `shop.ts:12`. Returns undefined if the error's stack has no
 * line of the user's code.
 */
export function userPlace(error: unknown): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  for (const line of stack.split("\n")) {
    const [, location, number] = /^ +at (?:.*\()?(.+?):(\d+):\d+\)?$/.exec(line) ?? [];
    if (location === undefined || !(location.startsWith("file:") || path.isAbsolute(location))) continue;
    const file = location.startsWith("file:") ? fileURLToPath(location) : location;
    if (file.includes(`${path.sep}node_modules${path.sep}`)) continue;
    if (ownFolders.some((folder) => file.startsWith(folder))) continue;
    const near = path.relative(process.cwd(), file);
    return `${near.startsWith("..") ? file : near}:${number}`;
  }
  return undefined;
}
