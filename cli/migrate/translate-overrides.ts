import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import type { ConfigKey } from "../../src/core/config/index.ts";
import { convertOne } from "./convert-keys.ts";
import { llmCollabKeys } from "./llm-collab-keys.ts";
import { mrlmKeys } from "./mrlm-keys.ts";
import { oldConfig } from "./old-config.ts";
import type { OldKey } from "./old-key.ts";
import { plainValue } from "./old-value.ts";
import { trainerSections } from "./trainer-sections.ts";

/** The overrides with keys of Lyceum, and notes about translated keys. */
export interface TranslatedOverrides {
  /** The overrides as `key=value`, in the given order. */
  readonly set: readonly string[];
  /** The number of passes over the tasks, if an old key sets it. */
  readonly epochs?: number;
  /** One line per old key with its new name. */
  readonly notes: readonly string[];
}

/**
 * Translates overrides of a config of Lyceum (`key=value`) that use keys of MRLM and LLM_Collab. Keys with a
 * counterpart are converted. Throws `config.invalid` for a key without one, with the reason, and for a key that has a
 * meaning only together with other old keys, with the new key. Other keys are unchanged.
 */
export function translateOverrides(
  overrides: readonly string[],
  options: {
    /** Returns every key that a config of Lyceum can have. These are never treated as old keys. */
    readonly keys: () => readonly ConfigKey[];
  },
): TranslatedOverrides {
  let known: ReadonlySet<string> | undefined;
  const isKnown = (key: string): boolean => {
    known ??= new Set(options.keys().flatMap(({ key: name }) => prefixes(name)));
    return known.has(key);
  };
  const set: string[] = [];
  const notes: string[] = [];
  let epochs: number | undefined;
  for (const text of overrides) {
    const equals = text.indexOf("=");
    const key = text.slice(0, Math.max(0, equals)).trim();
    const row = oldKeyOf(key);
    if (row === undefined || isKnown(key)) {
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
  return { set, notes, epochs };
}

/** Returns the row of an old key, where `*` stands for any trainer section. Returns undefined if no table has it. */
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
  const isIdle = row.idle?.some((idle) => JSON.stringify(idle) === JSON.stringify(value)) === true;
  if (row.now !== undefined && (row.partOf !== undefined || (row.convert !== undefined && row.alone !== true))) {
    if (isIdle) return {};
    throw refusal(key, value, `is now ${row.now}${row.note === undefined ? "" : ` (${row.note})`}`, row.now);
  }
  if (row.now === undefined && isIdle) return {};
  const meant = value ?? row.none;
  if (meant === undefined) {
    throw refusal(
      key,
      value,
      row.now === undefined ? "has no counterpart in Lyceum" : `is now ${row.now}, which cannot be None`,
      row.now,
    );
  }
  const { set, lost } = convertOne(row, meant, oldConfig({}, { section: key.split(".")[0]!, alone: true }));
  if (set !== undefined) return set;
  const without = row.now === undefined ? row.note : `${key.split(".")[0]} has no ${row.now.replace(/^\w+\./, "")}`;
  const reason = typeof lost === "string" && lost !== "" ? lost : (without ?? "");
  throw refusal(key, value, `has no counterpart in Lyceum${reason === "" ? "" : `: ${reason}`}`, row.now);
}

/** Removes the quotes of a text in Python's notation. */
function unquoted(text: string): string {
  return /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;
}

function passes(key: string, value: Json): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  throw refusal(key, value, "is now training.epochs, which must be a whole number above 0", "training.epochs");
}

function refusal(key: string, value: Json, message: string, now: string | undefined): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `${key} ${message}.`,
    hint:
      now === undefined
        ? "See docs/migrate.md for all old keys."
        : `Use its new name, such as --set ${now.split(/[,; ]/)[0]}=... See docs/migrate.md for all old keys.`,
    data: { key, value },
  });
}

/** Returns `a`, `a.b` and `a.b.c` for `a.b.c`. */
function prefixes(key: string): string[] {
  const parts = key.split(".");
  return parts.map((_, place) => parts.slice(0, place + 1).join("."));
}
