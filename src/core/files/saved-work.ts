/** Describes the part of a run that is on disk, in a sentence. Returns undefined if nothing is. */
export type SavedWork = () => string | undefined;

const works = new Set<SavedWork>();

/** Registers a text for the user that says what is saved if the process is killed. Dispose of it to unregister. */
export function registerSavedWork(work: SavedWork): Disposable {
  works.add(work);
  return { [Symbol.dispose]: () => void works.delete(work) };
}

/** Returns the descriptions of everything that runs in this process. */
export function savedWork(): readonly string[] {
  return [...works].flatMap((work) => work() ?? []);
}
