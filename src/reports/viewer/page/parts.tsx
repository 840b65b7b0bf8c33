import { type ComponentChildren, Fragment, type JSX } from "preact";
import { formatNumber } from "../../../core/text/format.ts";
import { visibleText } from "../../training/visible-text.ts";
import type { EpisodeOutcome } from "../episode-row.ts";
import type { RunStatus } from "../view-source.ts";

/** Text from outside: always a text node, with what cannot be seen made visible. */
export function Text({ children }: { readonly children: string }): JSX.Element {
  return <>{visibleText(children)}</>;
}

/** A path that breaks behind its slashes. */
export function PathText({ path }: { readonly path: string }): JSX.Element {
  const parts = path.split(/(?<=\/)/);
  return (
    <>
      {parts.map((part, place) => (
        <Fragment key={place}>
          <Text>{part}</Text>
          <wbr />
        </Fragment>
      ))}
    </>
  );
}

/** What went wrong with a request. */
export function Problem({ message }: { readonly message: string }): JSX.Element {
  return (
    <p class="problem" role="alert">
      <Text>{message}</Text>
    </p>
  );
}

/** How far a run is, as a word. */
export function Status({ status }: { readonly status: RunStatus }): JSX.Element {
  return <span class={`status ${status}`}>{status}</span>;
}

/** How an episode counts, as a word. */
export function Outcome({ outcome }: { readonly outcome: EpisodeOutcome }): JSX.Element {
  return <span class={`outcome ${outcome}`}>{outcome}</span>;
}

/** A date in the reader's own time, to the minute. */
export function dateText(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "";
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** A reward; a dash where there is none. */
export function rewardText(reward: number | null): string {
  return reward === null ? "–" : formatNumber(reward);
}

/** Names and what they are, one a line. Absent values are left out. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== "" && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? <Text>{value}</Text> : value}</dd>
          </div>
        ))}
    </dl>
  );
}
