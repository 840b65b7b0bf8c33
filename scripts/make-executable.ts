import { chmodSync } from "node:fs";

// Lets the files given as arguments be started by their first line; npm does so where it installs, a build does not.
for (const file of process.argv.slice(2)) chmodSync(file, 0o755);
