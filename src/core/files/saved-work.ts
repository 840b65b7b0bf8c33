/** Says what of a run is on disk, in a sentence; undefined if nothing is. */
export type SavedWork = () => string | undefined;

const works = new Set<SavedWork>();

/** Registers, until disposed, what is left of a run if the process is killed now. */
export function registerSavedWork(work: SavedWork): Disposable {
  works.add(work);
  return { [Symbol.dispose]: () => void works.delete(work) };
}

/** What is left of everything that runs in this process. */
export function savedWork(): readonly string[] {
  return [...works].flatMap((work) => work() ?? []);
}
