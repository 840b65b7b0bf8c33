import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { importImage } from "./import-image.ts";

/*
 * Builds the image of the Docker sandbox for JavaScript and TypeScript from this machine's own Node, its linked
 * libraries and the installed isolated-vm, if no image registry is available (Linux only). The image has no shell. On
 * other machines, build sandbox/docker/javascript/Dockerfile.
 */
const image = "lyceum-sandbox-javascript";
const root = mkdtempSync(join(tmpdir(), "lyceum-image-"));
try {
  const node = join(root, "usr/bin/node");
  copy(process.execPath, node);
  strip(node);
  const linked = execFileSync("ldd", [process.execPath], { encoding: "utf8" });
  for (const [library] of linked.matchAll(/\/\S+(?= \(0x)/g)) copy(library, join(root, library));
  const { resolve } = createRequire(import.meta.url);
  for (const name of ["isolated-vm", "node-gyp-build"]) {
    const folder = dirname(resolve(`${name}/package.json`));
    const target = join(root, "lyceum/node_modules", name);
    for (const part of ["package.json", "isolated-vm.js", "index.js", "node-gyp-build.js"])
      copyIfThere(folder, target, part);
    copyIfThere(folder, target, `prebuilds/${process.platform}-${process.arch}`);
  }
  for (const empty of ["tmp", "proc", "sys", "dev", "etc"]) mkdirSync(join(root, empty), { recursive: true });
  await importImage(root, image);
} finally {
  rmSync(root, { recursive: true, force: true });
}

function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, dereference: true });
}

/** Strips the symbols of a program, if the machine has the tool for it. The program is then a third smaller. */
function strip(file: string): void {
  try {
    execFileSync("strip", [file]);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function copyIfThere(folder: string, target: string, part: string): void {
  try {
    copy(join(folder, part), join(target, part));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
