import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type EpisodeFilter, filterParameters, orders, type outcomes, parseFilter } from "../episode-filter.ts";
import { isTyping } from "./is-typing.ts";

/** The pause after which typed text takes effect. */
const pauseMs = 250;

/** The values of a run by which its episodes can be filtered, besides texts, tasks and rewards. */
export interface FilterFields {
  readonly outcomes: readonly (typeof outcomes)[number][];
  readonly levels?: readonly string[];
  readonly agents?: readonly string[];
  readonly hasSteps?: boolean;
}

/** The fields of a filter. `/` moves the focus to the text search. */
export function FilterBar(props: {
  readonly filter: EpisodeFilter;
  readonly fields: FilterFields;
  readonly change: (filter: EpisodeFilter) => void;
  readonly busy: boolean;
}): JSX.Element {
  const { filter, fields, change, busy } = props;
  const { outcomes, levels = [], agents = [], hasSteps = false } = fields;
  const form = useRef<HTMLFormElement>(null);
  const written = filterParameters(filter).toString();
  // The typed text, until it takes effect or the address changes.
  const [typed, setTyped] = useState<URLSearchParams>();
  useEffect(() => {
    setTyped((before) => (before !== undefined && writtenOf(before) !== written ? before : undefined));
  }, [written]);
  useEffect(() => {
    if (typed === undefined) return;
    const timer = setTimeout(() => change(parseFilter(typed)), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== "/" || isTyping(event)) return;
      event.preventDefault();
      form.current?.querySelector<HTMLInputElement>("input[name=text]")?.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  const shown = typed ?? filterParameters(filter);
  const value = (name: string): string => shown.get(name) ?? "";
  const edit = (): void => {
    const entries = [...new FormData(form.current!)].map(([name, part]) => [name, String(part)]);
    setTyped(new URLSearchParams(entries));
  };
  const clear = (): void => {
    setTyped(undefined);
    change({});
  };
  const field = (name: string, label: string): JSX.Element => (
    <input name={name} type="search" placeholder={label} aria-label={label} value={value(name)} onInput={edit} />
  );
  const bound = (name: string, label: string): JSX.Element => (
    <input
      name={name}
      type="number"
      step="any"
      placeholder={label}
      aria-label={label}
      value={value(name)}
      onInput={edit}
    />
  );
  const choice = (name: string, first: string, names: readonly string[]): JSX.Element => (
    <select name={name} aria-label={name} value={value(name)} onChange={edit}>
      <option value="">{first}</option>
      {names.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
  return (
    <form class="bar filter" ref={form} onSubmit={(event) => event.preventDefault()}>
      {field("text", "search the transcripts")}
      {hasSteps && field("step", "step, or 10-20")}
      {choice("outcome", "all outcomes", outcomes)}
      {agents.length > 1 && choice("agent", "all agents", agents)}
      {bound("min", "reward from")}
      {bound("max", "to")}
      {field("task", "task")}
      {levels.length > 1 && choice("level", "all groups", levels)}
      {choice("order", "as played", orders)}
      {written !== "" && (
        <button type="button" onClick={clear}>
          clear
        </button>
      )}
      {busy && <span class="soft">searching…</span>}
    </form>
  );
}

function writtenOf(typed: URLSearchParams): string {
  return filterParameters(parseFilter(typed)).toString();
}
