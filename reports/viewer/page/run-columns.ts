import type { RunSummary } from "../view-source.ts";
import type { SortValue } from "./sort-rows.ts";

/** The sortable columns of runs, with their sort values, and whether the greatest comes first. */
export const runOrders: Readonly<
  Record<string, { readonly by: (run: RunSummary) => SortValue; readonly descendsFirst?: true }>
> = {
  run: { by: ({ path }) => path },
  kind: { by: ({ kind }) => kind },
  status: { by: ({ status }) => status },
  reward: { by: ({ scores }) => scores.reward, descendsFirst: true },
  accuracy: { by: ({ scores }) => scores.accuracy, descendsFirst: true },
  "win rate": { by: ({ scores }) => scores["win rate"], descendsFirst: true },
  loss: { by: ({ scores }) => scores.loss },
  done: { by: ({ done, total }) => (total === 0 ? undefined : done / total), descendsFirst: true },
  environment: { by: ({ environment, name }) => `${environment} ${name}` },
  model: { by: ({ model }) => model },
  started: { by: ({ startedAt }) => startedAt, descendsFirst: true },
};

/** Returns the order after a click on a column's head. The second click reverses it. */
export function nextOrder(
  order: { readonly sort: string; readonly descending: boolean },
  clicked: string,
): { readonly sort: string; readonly descending: boolean } {
  if (order.sort === clicked) return { sort: clicked, descending: !order.descending };
  return { sort: clicked, descending: runOrders[clicked]?.descendsFirst === true };
}

/** True if a run has every word in its name, kind, status, model or environment. */
export function matchesWords(run: RunSummary, words: string): boolean {
  const text = [run.path, run.name, run.environment, run.model, run.kind, run.status].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
