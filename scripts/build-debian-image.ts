import { execFileSync, spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { importImage } from "./import-image.ts";

/*
 * Builds the image of the Docker sandbox from this Debian machine's own package archive, if no image registry is
 * available: `node scripts/build-debian-image.ts [--image NAME] [package ...]`. The default packages are Python and
 * NumPy. The image has no shell and no package manager. On other machines, build sandbox/docker/Dockerfile.
 */
const { values, positionals } = parseArgs({
  options: { image: { type: "string", default: "lyceum-sandbox" } },
  allowPositionals: true,
});
const { image } = values;
const asked = ["python3", ...(positionals.length > 0 ? positionals : ["python3-numpy"])];

const folder = mkdtempSync(join(tmpdir(), "lyceum-image-"));
try {
  const root = join(folder, "root");
  mkdirSync(root);
  execFileSync("apt-get", ["download", "-q", ...needed(asked)], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (const archive of globSync(join(folder, "*.deb"))) execFileSync("dpkg-deb", ["-x", archive, root]);
  linkAlternatives(root);
  for (const waste of ["usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/lintian"]) {
    rmSync(join(root, waste), { recursive: true, force: true });
  }
  for (const empty of ["tmp", "proc", "sys", "dev", "etc"]) mkdirSync(join(root, empty), { recursive: true });
  execFileSync("ldconfig", ["-r", root]);
  await importImage(root, image);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Returns the packages and all their dependencies, without those that only a shell needs. */
function needed(packages: readonly string[]): string[] {
  const only = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"].map((kind) => `--no-${kind}`);
  const tree = execFileSync("apt-cache", ["depends", "--recurse", "--important", ...only, ...packages], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  const unwanted = /^(<|dpkg$|tar$|debconf|cdebconf|perl|install-info|media-types$|mailcap$)|:i386$/;
  const real = tree.split("\n").filter((line) => /^\S/.test(line) && !unwanted.test(line));
  // Without virtual names, which other packages provide.
  const shown = spawnSync("apt-cache", ["show", "--no-all-versions", ...new Set(real)], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  return [...shown.stdout.matchAll(/^Package: (.+)$/gm)].map(([, name]) => name!);
}

/** Does the work of update-alternatives after an installation: the linear algebra libraries are in a subfolder. */
function linkAlternatives(root: string): void {
  for (const library of globSync(join(root, "usr/lib/*/{blas,lapack}/*.so.3"))) {
    const kind = library.split("/").at(-2)!;
    symlinkSync(`${kind}/${basename(library)}`, join(library, "../..", basename(library)));
  }
}
