import { chmodSync } from "node:fs";

// Makes the files given as arguments executable. npm does this when it installs a package, a build does not.
for (const file of process.argv.slice(2)) chmodSync(file, 0o755);
