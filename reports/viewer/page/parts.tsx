import { type ComponentChildren, Fragment, type JSX } from "preact";
import { formatCount, formatNumber } from "../../../src/core/text/format-numbers.ts";
import { visibleText } from "../../../src/core/text/visible-text.ts";
import type { EpisodeOutcome } from "../episode-row.ts";
import type { RunStatus } from "../view-source.ts";

/** External text. It is always a text node, and invisible characters are made visible. */
export function Text({ children }: { readonly children: string }): JSX.Element {
  return <>{visibleText(children)}</>;
}

/** A path that may wrap after its slashes. */
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

/** The error of a request. */
export function Problem({ message }: { readonly message: string }): JSX.Element {
  return (
    <p class="problem" role="alert">
      <Text>{message}</Text>
    </p>
  );
}

/** The status of a run in words. If only some episodes failed, their number. */
export function Status({ status, failed = 0 }: { readonly status: RunStatus; readonly failed?: number }): JSX.Element {
  return (
    <>
      <span class={`status ${status}`}>{status}</span>
      {failed > 0 && status !== "failed" && <span class="bad failures">{formatCount(failed)} failed</span>}
    </>
  );
}

/** The outcome of an episode in words. */
export function Outcome({ outcome }: { readonly outcome: EpisodeOutcome }): JSX.Element {
  return <span class={`outcome ${outcome}`}>{outcome}</span>;
}

/** A date in the reader's time zone, to the minute. */
export function dateText(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "";
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** A reward. A dash if there is none. */
export function rewardText(reward: number | null): string {
  return reward === null ? "–" : formatNumber(reward);
}

/** Names and values, one pair per line. Absent values are omitted. */
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
