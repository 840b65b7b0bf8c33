import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import type { ConfigKey } from "../../core/config/index.ts";
import { convertOne } from "./convert-keys.ts";
import { llmCollabKeys } from "./llm-collab-keys.ts";
import { mrlmKeys } from "./mrlm-keys.ts";
import { oldConfig } from "./old-config.ts";
import type { OldKey } from "./old-key.ts";
import { plainValue } from "./old-value.ts";
import { trainerSections } from "./trainer-sections.ts";

/** Overrides in keys of Lyceum, and what is said about those that were not. */
export interface TranslatedOverrides {
  /** `key=value`, in the order in which they were given. */
  readonly set: readonly string[];
  /** Passes over the tasks, if an old key gives them. */
  readonly epochs?: number;
  /** A line for each old key: what it is called here. */
  readonly notes: readonly string[];
}

/**
 * Overrides of a config of Lyceum (`key=value`) that may use keys of MRLM and LLM_Collab. Those that have a counterpart
 * become it. Throws `config.invalid` for one that has none, with the reason, and for one that says something together
 * with other old keys only, with the new key. What is no old key is left as it is.
 */
export function translateOverrides(
  overrides: readonly string[],
  options: {
    /** Every key that a config of Lyceum may have: those are never taken for old ones. */
    readonly keys: readonly ConfigKey[];
  },
): TranslatedOverrides {
  const known = new Set(options.keys.flatMap(({ key }) => prefixes(key)));
  const set: string[] = [];
  const notes: string[] = [];
  let epochs: number | undefined;
  for (const text of overrides) {
    const equals = text.indexOf("=");
    const key = text.slice(0, Math.max(0, equals)).trim();
    const row = known.has(key) ? undefined : oldKeyOf(key);
    if (row === undefined) {
      set.push(text);
      continue;
    }
    const value = plainValue(unquoted(text.slice(equals + 1).trim()));
    if (row.old === "*.num_train_epochs" || row.old === "training.num_epochs") {
      epochs = passes(key, value);
      notes.push(`${key} is training.epochs`);
      continue;
    }
    const changes = translated(key, row, value);
    set.push(...Object.entries(changes).map(([name, change]) => `${name}=${JSON.stringify(change)}`));
    const names = Object.keys(changes);
    notes.push(
      names.length === 0
        ? `${key} changes nothing${row.note === undefined ? "" : `: ${row.note}`}`
        : `${key} is ${names.join(" and ")}`,
    );
  }
  return { set, notes, ...(epochs === undefined ? {} : { epochs }) };
}

/** The row of an old key, `*` standing for any trainer's section; undefined for what no table has. */
function oldKeyOf(key: string): OldKey | undefined {
  const [first, ...rest] = key.split(".");
  const starred =
    trainerSections.some(({ name }) => name === first) && rest.length > 0 ? ["*", ...rest].join(".") : key;
  return (
    llmCollabKeys.find(({ old }) => old === starred && old !== "*") ??
    mrlmKeys.find(({ old }) => old === key) ??
    [...llmCollabKeys, ...mrlmKeys].find(({ old, noEffect }) => noEffect === true && key.startsWith(`${old}.`))
  );
}

function translated(key: string, row: OldKey, value: Json): Readonly<Record<string, Json>> {
  if (row.noEffect === true) return {};
  if (row.now !== undefined && (row.partOf !== undefined || (row.convert !== undefined && row.alone !== true))) {
    throw refusal(
      key,
      value,
      `is ${row.now} in a config of Lyceum${row.note === undefined ? "" : ` (${row.note})`}`,
      row.now,
    );
  }
  if (row.now === undefined && row.idle?.some((idle) => JSON.stringify(idle) === JSON.stringify(value)) === true)
    return {};
  const meant = value ?? row.none;
  if (meant === undefined) {
    throw refusal(key, value, `is ${row.now ?? "no key of Lyceum"}, and None is no value of it`, row.now);
  }
  const { set, lost } = convertOne(row, meant, oldConfig({}, key.split(".")[0], true));
  if (set !== undefined) return set;
  const without = row.now === undefined ? row.note : `${key.split(".")[0]} has no ${row.now.replace(/^\w+\./, "")}`;
  const reason = typeof lost === "string" && lost !== "" ? lost : (without ?? "");
  throw refusal(key, value, `has no counterpart in Lyceum${reason === "" ? "" : `: ${reason}`}`, row.now);
}

/** A text in quotes, as Python writes it, without them. */
function unquoted(text: string): string {
  return /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;
}

function passes(key: string, value: Json): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  throw refusal(key, value, "is training.epochs, a whole number above 0", "training.epochs");
}

function refusal(key: string, value: Json, message: string, now: string | undefined): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `${key} ${message}.`,
    hint:
      now === undefined
        ? "docs/migrate.md has every old key."
        : `Set it by its new name, such as --set ${now.split(/[,; ]/)[0]}=...; docs/migrate.md has every old key.`,
    data: { key, value },
  });
}

/** `a`, `a.b` and `a.b.c` of `a.b.c`. */
function prefixes(key: string): string[] {
  const parts = key.split(".");
  return parts.map((_, place) => parts.slice(0, place + 1).join("."));
}
