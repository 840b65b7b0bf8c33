import { rmSync } from "node:fs";
import { relative, resolve } from "node:path";

// Removes the folders given as arguments. They must be inside the current folder, so that a mistake deletes nothing
// else.
for (const folder of process.argv.slice(2)) {
  const inside = relative(process.cwd(), resolve(folder));
  if (inside === "" || inside.startsWith("..") || resolve(inside) !== resolve(folder)) {
    throw new Error(`Refusing to remove ${folder}: it is not inside the current folder.`);
  }
  rmSync(resolve(folder), { recursive: true, force: true });
}
