import { match } from "ts-pattern";
import { type EpisodeFilter, filterParameters, parseFilter } from "../episode-filter.ts";

/** The state of the page. All of it is in the address, so that a copied address opens the same page. */
export type Route =
  | {
      readonly page: "runs";
      /** The column by which runs are sorted. Newest first by default. */
      readonly sort?: string;
      readonly descending?: boolean;
      readonly kind?: "training" | "evaluation";
      /** Words that a run must contain in its name, model or environment. */
      readonly words?: string;
    }
  | {
      readonly page: "run";
      readonly run: string;
      /** For a training, its episodes. The curves by default. An evaluation has one page. */
      readonly part?: "episodes";
      readonly filter: EpisodeFilter;
      readonly offset: number;
      /** The smoothing of the curves, from above 0 to below 1. None by default. */
      readonly smoothing?: number;
    }
  | {
      readonly page: "episode";
      readonly run: string;
      readonly id: string;
      readonly filter: EpisodeFilter;
      /** The agent whose messages are shown. By default the agent of the filter, or all. */
      readonly agent?: string;
      /** Shows all agents, although the filter names one. */
      readonly all?: true;
    }
  | { readonly page: "compare"; readonly first: string; readonly second: string }
  | { readonly page: "overlay"; readonly runs: readonly string[]; readonly smoothing?: number };

/** Returns the address of a route, from `#` on. */
export function routeHash(route: Route): string {
  const part = encodeURIComponent;
  return match(route)
    .with({ page: "runs" }, ({ sort, descending, kind, words }) => {
      const given = { sort, order: descending === true ? "descending" : undefined, kind, words: words || undefined };
      return `#/${query(parametersOf(given))}`;
    })
    .with({ page: "run" }, (run) => {
      const parameters = filterParameters(run.filter);
      if (run.offset > 0) parameters.set("offset", String(run.offset));
      addSmoothing(parameters, run.smoothing);
      return `#/run/${part(run.run)}${run.part === undefined ? "" : `/${run.part}`}${query(parameters)}`;
    })
    .with({ page: "episode" }, ({ run, id, filter, agent, all }) => {
      const parameters = filterParameters(filter);
      if (agent !== undefined) parameters.set("show", agent);
      if (all === true) parameters.set("all", "1");
      return `#/run/${part(run)}/episode/${part(id)}${query(parameters)}`;
    })
    .with({ page: "compare" }, ({ first, second }) => `#/compare/${part(first)}/${part(second)}`)
    .with({ page: "overlay" }, ({ runs, smoothing }) => {
      const parameters = new URLSearchParams();
      addSmoothing(parameters, smoothing);
      return `#/overlay/${runs.map(part).join("/")}${query(parameters)}`;
    })
    .exhaustive();
}

/** Returns the address of a run, without filters. */
export function runHash(run: string, part?: "episodes"): string {
  return routeHash({ page: "run", run, filter: {}, offset: 0, ...(part === undefined ? {} : { part }) });
}

/** Returns the route of an address. The list of runs for an invalid address. */
export function parseHash(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").map(decoded);
  const parameters = new URLSearchParams(search);
  const filter = parseFilter(parameters);
  const [page, first, next, id] = parts;
  if (page === "compare" && first && next) return { page, first, second: next };
  const smoothing = smoothingOf(parameters);
  if (page === "overlay" && first) return { page, runs: parts.slice(1).filter((run) => run !== ""), ...smoothing };
  if (page !== "run" || !first) return runsRoute(parameters);
  if (next === "episode" && id) {
    const agent = parameters.get("show");
    const all = parameters.get("all") === "1" ? { all: true as const } : {};
    return { page: "episode", run: first, id, filter, ...(agent === null ? {} : { agent }), ...all };
  }
  const offset = Number(parameters.get("offset"));
  return {
    page,
    run: first,
    ...(next === "episodes" ? { part: next } : {}),
    filter,
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    ...smoothing,
  };
}

function runsRoute(parameters: URLSearchParams): Route {
  const [sort, words] = [parameters.get("sort"), parameters.get("words")];
  const kind = parameters.get("kind");
  return {
    page: "runs",
    ...(sort ? { sort } : {}),
    ...(parameters.get("order") === "descending" ? { descending: true } : {}),
    ...(kind === "training" || kind === "evaluation" ? { kind } : {}),
    ...(words ? { words } : {}),
  };
}

function addSmoothing(parameters: URLSearchParams, smoothing: number | undefined): void {
  if (smoothing !== undefined && smoothing > 0) parameters.set("smoothing", String(smoothing));
}

function smoothingOf(parameters: URLSearchParams): { readonly smoothing?: number } {
  const smoothing = Number(parameters.get("smoothing"));
  return smoothing > 0 && smoothing < 1 ? { smoothing } : {};
}

function parametersOf(values: Readonly<Record<string, string | undefined>>): URLSearchParams {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return new URLSearchParams(given);
}

function query(parameters: URLSearchParams): string {
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}
