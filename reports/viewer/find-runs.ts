import { type Dirent, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { evaluationsFolder } from "../../src/core/files/step-folder.ts";
import { metricsFileName } from "../training/metrics-file.ts";
import { breaks } from "./brief-files.ts";

/** A run's folder. */
export interface FoundRun {
  /** The path from the searched folder, with slashes. `.` for that folder itself. */
  readonly path: string;
  readonly kind: "evaluation" | "training";
}

/** Deeper than any folder that Lyceum writes. */
const deepest = 6;

/** Folders that contain no run and possibly very many files. A training lists its evaluations itself. */
const skipped: ReadonlySet<string> = new Set(["node_modules", ".git", "checkpoints", "model"]);

/**
 * Returns the runs in a folder and its subfolders, by path. Links are not followed, so that nothing outside is found.
 * Unreadable folders are skipped.
 */
export async function findRuns(root: string): Promise<FoundRun[]> {
  const found: FoundRun[] = [];
  const pause = breaks();
  const search = async (folder: string, depth: number): Promise<void> => {
    await pause();
    const entries = entriesOf(folder);
    const names = new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name));
    const path = relative(root, folder).split(sep).join("/") || ".";
    const isTraining = !names.has("evaluation.json") && names.has(metricsFileName);
    if (isTraining) found.push({ path, kind: "training" });
    else if (names.has("evaluation.json")) found.push({ path, kind: "evaluation" });
    if (depth === deepest) return;
    for (const entry of entries) {
      const isOwn = isTraining && entry.name === evaluationsFolder;
      if (entry.isDirectory() && !isOwn && !skipped.has(entry.name)) await search(join(folder, entry.name), depth + 1);
    }
  };
  await search(root, 0);
  const { compare } = new Intl.Collator("en", { numeric: true });
  return found.sort((one, other) => compare(one.path, other.path));
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
