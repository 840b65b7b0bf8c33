import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from "yaml";
import type { Json } from "../../contract/json.ts";
import type { ConfigProblem } from "./config-problem.ts";

/** A place in a YAML text. Line and column start at 1. */
export interface YamlPosition {
  readonly line: number;
  readonly column: number;
}

/** A YAML text as plain data, with the position of each key. */
export interface YamlSource {
  readonly value: Json;
  /**
   * Returns the position of the key at `path`. If the path does not exist, returns the position of its nearest
   * ancestor, with `exact: false`. Returns undefined if even the first key does not exist.
   */
  locate(path: readonly PropertyKey[]): (YamlPosition & { readonly exact: boolean }) | undefined;
}

/** The parsed text, or all its syntax errors. */
export type YamlResult =
  | { readonly source: YamlSource; readonly problems?: undefined }
  | { readonly source?: undefined; readonly problems: readonly ConfigProblem[] };

// Configs are written by hand. A larger or deeper file is the wrong file, or an attack on the parser.
const maximumCharacters = 1_000_000;
const maximumLines = 20_000;
const maximumDepth = 64;

/** Returns why a text is too large for a config, if it is. */
export function excessOf(text: string): string | undefined {
  if (text.length > maximumCharacters) return `larger than ${maximumCharacters} characters`;
  let lines = 1;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) lines += 1;
  return lines > maximumLines ? `longer than ${maximumLines} lines` : undefined;
}

/**
 * Parses one YAML 1.2 document of strings, numbers, booleans, lists and mappings. Refuses duplicate keys, unknown tags,
 * several documents, and aliases (and thereby alias bombs and merge keys). Each location begins with `name`.
 */
export function parseYamlSource(text: string, name: string): YamlResult {
  const excess = excessOf(text);
  if (excess !== undefined) return { problems: [problemAt(name, undefined, excess)] };
  const tooDeep: YamlResult = {
    problems: [problemAt(name, undefined, `lists or mappings nested more than ${maximumDepth} deep`)],
  };
  const lineCounter = new LineCounter();
  // Duplicate keys are checked below, because the parser compares every key with every other key.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true, uniqueKeys: false });
  const positionOf = (offset: number): YamlPosition => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };

  // The parser reports its own stack overflow as one of the errors.
  if (document.errors.some(({ message }) => /call stack/i.test(message))) return tooDeep;
  const problems = [...document.errors, ...document.warnings].map((error) => {
    return problemAt(name, positionOf(error.pos[0]), lowerFirst(error.message.replace(/\.$/, "")));
  });
  if (problems.length > 0) return { problems };

  let deepest = 0;
  visit(document, {
    Alias: (_, node) => {
      const position = positionOf(node.range?.[0] ?? 0);
      problems.push(problemAt(name, position, `the alias "*${node.source}" is not allowed`, "Write the value out."));
    },
    Pair: (_, { key }) => {
      // A copy of the data would silently lose such a key.
      if (!isScalar(key) || key.value !== "__proto__") return;
      problems.push(problemAt(name, positionOf(key.range?.[0] ?? 0), 'the key "__proto__" is not allowed'));
    },
    Map: (_, { items }) => {
      const seen = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const text = String(key.value);
        const message = `the key "${text}" is given twice`;
        if (seen.has(text))
          problems.push(problemAt(name, positionOf(key.range?.[0] ?? 0), message, "Keep one of the two."));
        seen.add(text);
      }
    },
    Collection: (_, __, ancestors) => {
      deepest = Math.max(deepest, ancestors.length);
    },
  });
  if (problems.length > 0) return { problems };
  // In a mapping, there is a pair node between two collections, so nodes can be twice as deep.
  if (deepest > 2 * maximumDepth) return tooDeep;

  const value = document.toJS() as Json;
  const pairOf = pairFinder();
  return { source: { value, locate: (path) => locate({ document, path, positionOf, pairOf }) } };
}

/** Returns a function that finds a pair of a mapping by its key. Each mapping is read once. */
function pairFinder(): (map: YAMLMap, key: string) => Pair | undefined {
  const known = new WeakMap<YAMLMap, Map<string, Pair>>();
  return (map, key) => {
    let pairs = known.get(map);
    if (pairs === undefined) {
      pairs = new Map(map.items.flatMap((pair) => (isScalar(pair.key) ? [[String(pair.key.value), pair]] : [])));
      known.set(map, pairs);
    }
    return pairs.get(key);
  };
}

function locate(options: {
  readonly document: Document.Parsed;
  readonly path: readonly PropertyKey[];
  readonly positionOf: (offset: number) => YamlPosition;
  readonly pairOf: (map: YAMLMap, key: string) => Pair | undefined;
}): (YamlPosition & { exact: boolean }) | undefined {
  const { document, path, positionOf, pairOf } = options;
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const segment of path) {
    if (isMap(node)) {
      const pair = pairOf(node, String(segment));
      if (pair === undefined) return offset === undefined ? undefined : { ...positionOf(offset), exact: false };
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(segment)];
      const range = isScalar(item) || isMap(item) || isSeq(item) || isAlias(item) ? item.range : undefined;
      if (range === undefined || range === null) {
        return offset === undefined ? undefined : { ...positionOf(offset), exact: false };
      }
      offset = range[0];
      node = item;
    } else {
      return offset === undefined ? undefined : { ...positionOf(offset), exact: false };
    }
  }
  return offset === undefined ? undefined : { ...positionOf(offset), exact: true };
}

function problemAt(name: string, position: YamlPosition | undefined, message: string, hint?: string): ConfigProblem {
  return {
    location: position === undefined ? name : `${name}:${position.line}:${position.column}`,
    ...position,
    path: "",
    message,
    hint,
  };
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
