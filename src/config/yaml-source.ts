import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Json } from "../json.ts";
import type { ConfigProblem } from "./config-problem.ts";

/** A place in a YAML text, both from 1. */
export interface YamlPosition {
  readonly line: number;
  readonly column: number;
}

/** A YAML text as plain data that remembers where each key stood. */
export interface YamlSource {
  readonly value: Json;
  /**
   * The position of the key at `path`. Where the path does not exist, that of its nearest ancestor, with `exact`
   * false; undefined where not even the first key exists.
   */
  locate(path: readonly PropertyKey[]): (YamlPosition & { readonly exact: boolean }) | undefined;
}

/** Either the parsed text, or everything that is wrong with its syntax. */
export type YamlResult =
  | { readonly source: YamlSource; readonly problems?: undefined }
  | { readonly source?: undefined; readonly problems: readonly ConfigProblem[] };

// A config is written by hand: what is larger or deeper than this is the wrong file or an attack on the parser.
const maximumCharacters = 1_000_000;
const maximumDepth = 64;

/**
 * Parses one YAML 1.2 document of strings, numbers, booleans, lists and mappings. Duplicate keys, aliases (and with
 * them alias bombs and merge keys), unknown tags and several documents are refused. `name` begins each location.
 */
export function parseYamlSource(text: string, name: string): YamlResult {
  if (text.length > maximumCharacters) {
    return { problems: [problemAt(name, undefined, `larger than ${maximumCharacters} characters`)] };
  }
  const tooDeep: YamlResult = {
    problems: [problemAt(name, undefined, `lists or mappings nested more than ${maximumDepth} deep`)],
  };
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true });
  const positionOf = (offset: number): YamlPosition => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };

  // The parser reports its own stack overflow as one more error.
  if (document.errors.some(({ message }) => /call stack/i.test(message))) return tooDeep;
  const problems = [...document.errors, ...document.warnings].map((error) => {
    const duplicate = error.code === "DUPLICATE_KEY";
    const message = duplicate
      ? `the key "${keyTextAt(text, error.pos[0])}" is given twice`
      : lowerFirst(error.message.replace(/\.$/, ""));
    return problemAt(name, positionOf(error.pos[0]), message, duplicate ? "Keep one of the two." : undefined);
  });
  if (problems.length > 0) return { problems };

  let deepest = 0;
  visit(document, {
    Alias: (_, node) => {
      const position = positionOf(node.range?.[0] ?? 0);
      problems.push(problemAt(name, position, `the alias "*${node.source}" is not allowed`, "Write the value out."));
    },
    Pair: (_, { key }) => {
      // Copying such a key loses it without a word.
      if (!isScalar(key) || key.value !== "__proto__") return;
      problems.push(problemAt(name, positionOf(key.range?.[0] ?? 0), 'the key "__proto__" is not allowed'));
    },
    Collection: (_, __, ancestors) => {
      deepest = Math.max(deepest, ancestors.length);
    },
  });
  if (problems.length > 0) return { problems };
  // Between two collections there is a pair where the outer one is a mapping.
  if (deepest > 2 * maximumDepth) return tooDeep;

  const value = document.toJS() as Json;
  return { source: { value, locate: (path) => locate(document, path, positionOf) } };
}

function locate(
  document: Document.Parsed,
  path: readonly PropertyKey[],
  positionOf: (offset: number) => YamlPosition,
): (YamlPosition & { exact: boolean }) | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const segment of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment));
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
    ...(hint === undefined ? {} : { hint }),
  };
}

function keyTextAt(text: string, offset: number): string {
  return /^["']?([^"':\n]*)/.exec(text.slice(offset, offset + 200))?.[1]?.trim() ?? "";
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
