import { isAbsolute, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** A position in source code. Line and column count from 1. */
export interface SourcePosition {
  /** A path or a `file:` URL. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The folders with this package's code. They are the same in the source and in the built package. */
const ownFolders = ["src", "cli", "environments", "reports", "sandbox", "server", "trainers"].map((folder) =>
  fileURLToPath(new URL(`../../../${folder}/`, import.meta.url)),
);

/**
 * Returns the position in the user's code that threw an error, as `file:line:column`. Returns undefined if the stack
 * names no file.
 */
export function thrownAt(error: unknown): string | undefined {
  const stack = stackOf(error);
  if (stack === undefined) return undefined;
  const position = userPosition(stackPositions(stack));
  return position === undefined ? undefined : positionText(position);
}

/** Returns the stack of an error, or undefined if it has none that can be read. */
export function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error && typeof error.stack === "string" ? error.stack : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the line of the user's code that threw, such as `shop.ts:12`, or undefined if the stack has none. */
export function userPlace(error: unknown): string | undefined {
  const position = stackPositions(stackOf(error) ?? "").find(isUserCode);
  return position === undefined ? undefined : positionText(position).replace(/:\d+$/, "");
}

/**
 * Returns the innermost position in the user's code, which is outside this package, Node and installed packages. If
 * there is none, returns the first position outside this package, else the first in any file.
 */
function userPosition(positions: readonly SourcePosition[]): SourcePosition | undefined {
  const inFiles = positions.filter(({ file }) => pathOf(file) !== undefined);
  return inFiles.find(isUserCode) ?? inFiles.find(isForeign) ?? inFiles[0];
}

/** True if a position is outside this package, Node and installed packages. */
function isUserCode(position: SourcePosition): boolean {
  return isForeign(position) && !/[/\\]node_modules[/\\]/.test(position.file);
}

function isForeign({ file }: SourcePosition): boolean {
  const path = pathOf(file);
  return path !== undefined && !ownFolders.some((folder) => path.startsWith(folder));
}

/** Formats a position as `file:line:column`. Paths in the current folder are relative to it. */
export function positionText({ file, line, column }: SourcePosition): string {
  const path = pathOf(file) ?? file;
  if (!isAbsolute(path)) return `${path}:${line}:${column}`;
  const within = relative(process.cwd(), path);
  const shown = within.startsWith(`..${sep}`) || isAbsolute(within) ? path : within;
  return `${shown}:${line}:${column}`;
}

function stackPositions(stack: string): SourcePosition[] {
  return stack.split("\n").flatMap((line) => {
    const match =
      /^\s+at .*?(?<=[\s(])((?:file:\/\/|\/|[A-Za-z]:[\\/])[^<>]*?):(\d+):(\d+)(?:\)?\s*\{?$|\), <anonymous>)/.exec(
        line,
      );
    return match === null ? [] : [{ file: match[1]!, line: Number(match[2]), column: Number(match[3]) }];
  });
}

/** Returns the path of a file, its URL if it has none here, or undefined for anything else, such as `node:fs`. */
function pathOf(file: string): string | undefined {
  const bare = file.replace(/\?.*$/, "");
  if (!bare.startsWith("file://")) return isAbsolute(bare) ? bare : undefined;
  try {
    return fileURLToPath(bare);
  } catch {
    // A URL of another machine, or with an escape that is no character.
    return bare;
  }
}
