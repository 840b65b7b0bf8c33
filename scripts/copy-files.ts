import { copyFileSync, globSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

// Copies what the compiler leaves behind: the files of a folder with an extension, at the same places in another.
const [from, to, extension] = process.argv.slice(2);
if (from === undefined || to === undefined || extension === undefined) {
  throw new Error("Usage: copy-files.ts FROM TO EXTENSION");
}
for (const path of globSync(`**/*${extension}`, { cwd: from })) {
  mkdirSync(dirname(join(to, path)), { recursive: true });
  copyFileSync(join(from, path), join(to, path));
}
