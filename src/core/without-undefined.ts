/**
 * Returns an object without the keys whose value is undefined. Use it where options are spread over defaults, or where
 * an object is compared with one that was read from a file.
 */
export function withoutUndefined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}
