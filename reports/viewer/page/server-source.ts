import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { filterParameters } from "../episode-filter.ts";
import type { ViewSource } from "../view-source.ts";

/** Creates the source of data from the server of the page. */
export const serverSource: ViewSource = {
  runs: (signal) => get("runs", {}, signal),
  run: (run, signal) => get("run", { run }, signal),
  episodes: (run, { filter, offset, limit }, signal) =>
    get(
      "episodes",
      { ...Object.fromEntries(filterParameters(filter)), run, offset: String(offset), limit: String(limit) },
      signal,
    ),
  episode: (run, { id, filter }, signal) =>
    get("episode", { ...Object.fromEntries(filterParameters(filter)), run, id }, signal),
  compare: (first, second, signal) => get("compare", { first, second }, signal),
};

async function get<T>(name: string, parameters: Record<string, string>, signal: AbortSignal | undefined): Promise<T> {
  const response = await fetch(`/api/${name}?${new URLSearchParams(parameters)}`, { signal });
  const answer = (await response.json()) as T | { readonly error: ErrorData };
  if (response.ok) return answer as T;
  const { message, hint } = (answer as { readonly error: ErrorData }).error;
  throw new Error([message, hint].filter((part) => part !== undefined).join(" "));
}
