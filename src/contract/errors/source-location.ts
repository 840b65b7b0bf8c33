import { isAbsolute, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** A place in source code; line and column from 1. */
export interface SourcePosition {
  /** A path or a `file:` URL. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The folders of this package's own code, in the source as in the built package. */
const ownFolders = ["src", "environments", "trainers", "sandbox"].map((folder) =>
  fileURLToPath(new URL(`../../../${folder}/`, import.meta.url)),
);

/** Where an error was thrown, as `file:line:column` in the user's code; undefined if its stack names no file. */
export function thrownAt(error: unknown): string | undefined {
  const stack = error instanceof Error ? error.stack : undefined;
  if (typeof stack !== "string") return undefined;
  const position = userPosition(stackPositions(stack));
  return position === undefined ? undefined : positionText(position);
}

/**
 * The first position in the user's code, from the innermost on: outside of this package, of Node and of installed
 * packages. Else the first outside of this package, and else the first in any file.
 */
export function userPosition(positions: readonly SourcePosition[]): SourcePosition | undefined {
  const inFiles = positions.filter(({ file }) => pathOf(file) !== undefined);
  return inFiles.find(isUserCode) ?? inFiles.find(isForeign) ?? inFiles[0];
}

/** True for a position outside of this package, of Node and of installed packages. */
export function isUserCode(position: SourcePosition): boolean {
  return isForeign(position) && !/[/\\]node_modules[/\\]/.test(position.file);
}

function isForeign({ file }: SourcePosition): boolean {
  const path = pathOf(file);
  return path !== undefined && !ownFolders.some((folder) => path.startsWith(folder));
}

/** `file:line:column`; a file in the current folder is relative to it. */
export function positionText({ file, line, column }: SourcePosition): string {
  const path = pathOf(file) ?? file;
  const within = relative(process.cwd(), path);
  const shown = within.startsWith(`..${sep}`) || isAbsolute(within) ? path : within;
  return `${shown}:${line}:${column}`;
}

function stackPositions(stack: string): SourcePosition[] {
  return stack.split("\n").flatMap((line) => {
    const match = /^\s+at .*?((?:file:\/\/|\/|[A-Za-z]:[\\/])[^()]*?):(\d+):(\d+)\)?$/.exec(line);
    return match === null ? [] : [{ file: match[1]!, line: Number(match[2]), column: Number(match[3]) }];
  });
}

/** The path of a file; undefined for anything else, such as `node:fs`. */
function pathOf(file: string): string | undefined {
  const bare = file.replace(/\?.*$/, "");
  if (bare.startsWith("file://")) return fileURLToPath(bare);
  return isAbsolute(bare) ? bare : undefined;
}
