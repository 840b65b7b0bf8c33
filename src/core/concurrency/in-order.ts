/**
 * Yields values in the order of their places, which begin at `first` and have no gaps. Keeps values that come early.
 */
export async function* inOrder<T>(
  values: AsyncIterable<{ readonly place: number; readonly value: T }>,
  first: number,
): AsyncGenerator<T, void, undefined> {
  const early = new Map<number, { readonly value: T }>();
  let next = first;
  for await (const { place, value } of values) {
    early.set(place, { value });
    for (let due = early.get(next); due !== undefined; due = early.get(next)) {
      early.delete(next);
      next += 1;
      yield due.value;
    }
  }
}
