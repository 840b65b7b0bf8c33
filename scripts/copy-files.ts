import { copyFileSync, globSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

// Copies files that the compiler ignores: the files of a folder with a given name ending, to the same paths in another.
const [from, to, ending] = process.argv.slice(2);
if (from === undefined || to === undefined || ending === undefined) {
  throw new Error("Usage: copy-files.ts FROM TO ENDING");
}
for (const path of globSync(`**/*${ending}`, { cwd: from })) {
  mkdirSync(dirname(join(to, path)), { recursive: true });
  copyFileSync(join(from, path), join(to, path));
}
