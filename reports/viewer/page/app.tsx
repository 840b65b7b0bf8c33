import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { match } from "ts-pattern";
import type { ViewSource } from "../view-source.ts";
import { ComparePage } from "./compare-page.tsx";
import { EpisodePage } from "./episode-page.tsx";
import { OverlayPage } from "./overlay-page.tsx";
import { parseHash, type Route } from "./route.ts";
import { RunPage } from "./run-page.tsx";
import { RunsPage } from "./runs-page.tsx";

/** The whole page for its address. `live` is true if the source is a server, whose data may change. */
export function App({ source, live }: { readonly source: ViewSource; readonly live: boolean }): JSX.Element {
  const [route, setRoute] = useState(() => parseHash(location.hash));
  useEffect(() => {
    const onChange = (): void => setRoute(parseHash(location.hash));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  // The state of one run's page does not apply to another run.
  return (
    <>
      <Head route={route} />
      <main key={mainKey(route)}>
        <Main route={route} source={source} live={live} />
      </main>
    </>
  );
}

function mainKey(route: Route): string {
  return route.page === "run" || route.page === "episode" ? `${route.page} ${route.run}` : route.page;
}

function Main({ route, source, live }: { route: Route; source: ViewSource; live: boolean }): JSX.Element {
  return match(route)
    .with({ page: "runs" }, (runs) => <RunsPage source={source} live={live} route={runs} />)
    .with({ page: "run" }, (run) => <RunPage source={source} live={live} route={run} />)
    .with({ page: "episode" }, (episode) => <EpisodePage source={source} route={episode} />)
    .with({ page: "compare" }, ({ first, second }) => <ComparePage source={source} first={first} second={second} />)
    .with({ page: "overlay" }, (overlay) => <OverlayPage source={source} live={live} route={overlay} />)
    .exhaustive();
}

function Head({ route }: { readonly route: Route }): JSX.Element {
  const run = route.page === "run" || route.page === "episode" ? route.run : undefined;
  return (
    <nav>
      <a href="#/" class="brand">
        Lyceum
      </a>
      {run !== undefined && (
        <>
          <span class="soft">/</span>
          <a href={`#/run/${encodeURIComponent(run)}`}>{run === "." ? "run" : run}</a>
        </>
      )}
      {(route.page === "compare" || route.page === "overlay") && (
        <>
          <span class="soft">/</span>
          <span>{route.page === "compare" ? "comparison" : "overlay"}</span>
        </>
      )}
    </nav>
  );
}
