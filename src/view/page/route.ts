import { type EpisodeFilter, filterParameters, parseFilter } from "../episode-filter.ts";

/** What the page shows: all of it stands in the address, so that a copied address opens the same. */
export type Route =
  | { readonly page: "runs" }
  | {
      readonly page: "run";
      readonly run: string;
      /** Of a training, its episodes; the curves when absent. An evaluation has all on one page. */
      readonly part?: "episodes";
      readonly filter: EpisodeFilter;
      readonly offset: number;
    }
  | {
      readonly page: "episode";
      readonly run: string;
      readonly id: string;
      readonly filter: EpisodeFilter;
      /** Whose messages are shown; by default the agent's that the filter names, or the first one's. */
      readonly agent?: string;
    }
  | { readonly page: "compare"; readonly first: string; readonly second: string };

/** The address of a route, from `#` on. */
export function routeHash(route: Route): string {
  const part = encodeURIComponent;
  switch (route.page) {
    case "runs":
      return "#/";
    case "run": {
      const parameters = filterParameters(route.filter);
      if (route.offset > 0) parameters.set("offset", String(route.offset));
      return `#/run/${part(route.run)}${route.part === undefined ? "" : `/${route.part}`}${query(parameters)}`;
    }
    case "episode": {
      const parameters = filterParameters(route.filter);
      if (route.agent !== undefined) parameters.set("show", route.agent);
      return `#/run/${part(route.run)}/episode/${part(route.id)}${query(parameters)}`;
    }
    case "compare":
      return `#/compare/${part(route.first)}/${part(route.second)}`;
  }
}

/** The route of an address; the list of runs for what is none. */
export function parseHash(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").map(decoded);
  const parameters = new URLSearchParams(search);
  const filter = parseFilter(parameters);
  const [page, first, next, id] = parts;
  if (page === "compare" && first && next) return { page, first, second: next };
  if (page !== "run" || !first) return { page: "runs" };
  if (next === "episode" && id) {
    const agent = parameters.get("show");
    return { page: "episode", run: first, id, filter, ...(agent === null ? {} : { agent }) };
  }
  const offset = Number(parameters.get("offset"));
  return {
    page,
    run: first,
    ...(next === "episodes" ? { part: next } : {}),
    filter,
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
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
