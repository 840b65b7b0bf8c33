/** A changed path of a container, as the engine lists it: 0 is changed, 1 added, 2 deleted. */
export interface ListedChange {
  readonly Path: string;
  readonly Kind: number;
}

/** The changes of a container's files, as the fewest paths that cover them. */
export interface FileChanges {
  /** Files and whole folders to copy. */
  readonly copied: readonly string[];
  readonly deleted: readonly string[];
}

/**
 * Returns the changes outside of the protected folders, and with `within` only those at or below these paths. The changes
 * below the folders `open` are returned in any case. A folder whose entries changed is not copied itself. No path lies below another one, so that a copied link cannot lead a later
 * copy elsewhere.
 */
export function fileChanges(
  listed: readonly ListedChange[],
  places: {
    readonly protectedFolders: readonly string[];
    readonly within?: readonly string[] | undefined;
    readonly open?: readonly string[] | undefined;
  },
): FileChanges {
  const { protectedFolders, within = ["/"], open = [] } = places;
  const paths = listed.filter(
    ({ Path }) =>
      open.some((folder) => Path.startsWith(`${folder}/`)) ||
      (within.some((folder) => isWithin(Path, folder)) && !protectedFolders.some((folder) => isWithin(Path, folder))),
  );
  const sorted = paths.toSorted((a, b) => (a.Path < b.Path ? -1 : 1));
  const parents = new Set(sorted.map(({ Path }) => Path.slice(0, Path.lastIndexOf("/"))));
  const added = new Set<string>();
  const copied: string[] = [];
  const deleted: string[] = [];
  for (const { Path, Kind } of sorted) {
    if (hasAncestor(Path, added)) continue;
    if (Kind === 2) deleted.push(Path);
    else if (Kind === 1 || !parents.has(Path)) {
      added.add(Path);
      copied.push(Path);
    }
  }
  return { copied, deleted };
}

/** True for the folder itself and everything below it. */
function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === "/" || path.startsWith(`${folder}/`);
}

function hasAncestor(path: string, folders: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
    if (folders.has(path.slice(0, end))) return true;
  }
  return false;
}
