import type { Json } from "../../contract/json.ts";
import type { ConfigProblem } from "./config-problem.ts";
import { parseYamlSource } from "./yaml-source.ts";

/** One `--set path=value`. */
export interface ConfigOverride {
  /** The text in error messages instead of a line number: the option as the user typed it. */
  readonly location: string;
  /** The keys from the root. A list item has its index as key. */
  readonly path: readonly string[];
  readonly value: Json;
}

/**
 * Parses `a.b=value`: a dotted path and a value in YAML (`1e-4`, `true`, `[a, b]`, `text`). `option` is the command
 * line option that the text belongs to.
 */
export function parseOverride(
  text: string,
  option = "--set",
): { readonly override: ConfigOverride } | { readonly problem: ConfigProblem } {
  const location = `${option} ${text}`;
  const equals = text.indexOf("=");
  const path = text.slice(0, Math.max(0, equals)).trim().split(".");
  if (path.includes("")) {
    const example = option === "--set" ? "training.steps=100" : "key=value";
    const hint = `Give a dotted path and a value, such as ${option} ${example}.`;
    return { problem: { location, path: "", message: "expected key=value", hint } };
  }
  const { source, problems } = parseYamlSource(text.slice(equals + 1), location);
  if (source === undefined) {
    const { message, hint } = problems[0]!;
    return { problem: { location, path: path.join("."), message, hint } };
  }
  return { override: { location, path, value: source.value } };
}

/** A config with its `--set` options applied in order. Options that cannot be applied are problems. */
export interface OverriddenConfig {
  readonly value: Json;
  readonly overrides: readonly ConfigOverride[];
  readonly problems: readonly ConfigProblem[];
}

/**
 * Applies `--set` options to a config. `spellOut` expands short forms, once at the start and again after each option.
 */
export function applyOverrides(options: {
  readonly value: Json;
  readonly overrides: readonly string[];
  readonly option?: string | undefined;
  readonly spellOut?: ((config: Json) => Json) | undefined;
}): OverriddenConfig {
  const { spellOut = (config: Json): Json => config } = options;
  let value = spellOut(options.value);
  const overrides: ConfigOverride[] = [];
  const problems: ConfigProblem[] = [];
  for (const text of options.overrides) {
    const parsed = parseOverride(text, options.option);
    const applied = "problem" in parsed ? parsed : { ...parsed, ...applyOverride(value, parsed.override) };
    if ("problem" in applied) {
      problems.push(applied.problem);
      continue;
    }
    overrides.push(applied.override);
    value = spellOut(applied.value);
  }
  return { value, overrides, problems };
}

/** Returns a copy of `value` with the override, or a problem if the path leads through a plain value. */
export function applyOverride(
  value: Json,
  override: ConfigOverride,
): { readonly value: Json } | { readonly problem: ConfigProblem } {
  const root = { config: structuredClone(value) as Json };
  let parent: Json = root;
  let key = "config";
  for (const [depth, segment] of override.path.entries()) {
    let child = read(parent, key);
    if (child === undefined || child === null) {
      child = {};
      write(parent, key, child);
    }
    const complain = (message: string): { problem: ConfigProblem } => {
      const path = override.path.slice(0, depth).join(".");
      return { problem: { location: override.location, path, message: `${path || "the config"} ${message}` } };
    };
    if (typeof child !== "object") return complain(`is ${JSON.stringify(child)} and has no keys`);
    if (Array.isArray(child) && !(/^\d+$/.test(segment) && Number(segment) <= child.length)) {
      return complain(`is a list of ${child.length} and has no item "${segment}"`);
    }
    parent = child;
    key = segment;
  }
  write(parent, key, override.value);
  return { value: root.config };
}

function read(container: Json, key: string): Json | undefined {
  return Object.hasOwn(container as object, key) ? (container as Record<string, Json>)[key] : undefined;
}

/** Defines the property instead of assigning it, so that the key `__proto__` becomes a plain (and then unknown) key. */
function write(container: Json, key: string, value: Json): void {
  Object.defineProperty(container as object, key, { value, writable: true, enumerable: true, configurable: true });
}
