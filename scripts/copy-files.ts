import { copyFileSync, globSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

// Copies what the compiler leaves behind: the files of a folder whose names end so, at the same places in another.
const [from, to, ending] = process.argv.slice(2);
if (from === undefined || to === undefined || ending === undefined) {
  throw new Error("Usage: copy-files.ts FROM TO ENDING");
}
for (const path of globSync(`**/*${ending}`, { cwd: from })) {
  mkdirSync(dirname(join(to, path)), { recursive: true });
  copyFileSync(join(from, path), join(to, path));
}
