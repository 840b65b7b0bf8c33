import { open } from "node:fs/promises";
import type { Episode } from "../../src/contract/episode.ts";
import { tryParseJson } from "../../src/contract/json.ts";
import type { EpisodeIndex } from "./episode-index.ts";
import type { EpisodeFile, IndexedRow } from "./episode-row.ts";
import { hasText } from "./episode-text.ts";

/** The number of bytes that are read and searched at once. */
const blockSize = 8 << 20;

/** The maximum number of matches. The search ends there and reports it. */
const maximumMatches = 10_000;

/** A search through the transcripts of a log. */
export interface TextSearch {
  readonly text: string;
  /** The ids of the matching episodes in the part that has been searched. */
  readonly matches: ReadonlySet<string>;
  /** True if it ended at its limit. */
  readonly more: boolean;
  /** Searches the episodes that have not been searched yet. `signal` ends it between two blocks. */
  run(signal?: AbortSignal): Promise<void>;
}

/**
 * Searches the episodes of an index for a text, in any case. Blocks of bytes are searched for the text as JSON encodes
 * it. Only episodes with such bytes are parsed, because the match may be in a key or in half a character.
 */
export function createTextSearch({ rows, paths }: Pick<EpisodeIndex, "rows" | "paths">, text: string): TextSearch {
  const pattern = bytePattern(text);
  const matches = new Set<string>();
  const searched: Partial<Record<EpisodeFile, number>> = {};
  const lookThrough = async (file: EpisodeFile, path: string, signal?: AbortSignal) => {
    const from = searched[file] ?? 0;
    const left = rows.filter((row) => row.file === file && row.offset >= from);
    if (left.length === 0) return;
    left.sort((one, other) => one.offset - other.offset);
    await using log = await open(path, "r");
    for (const block of blocks(left)) {
      signal?.throwIfAborted();
      if (matches.size >= maximumMatches) return;
      const start = block[0]!.offset;
      const end = block.at(-1)!.offset + block.at(-1)!.length;
      const { buffer, bytesRead } = await log.read(Buffer.allocUnsafe(end - start), 0, end - start, start);
      for (const row of rowsWith(pattern, { block, bytes: buffer.subarray(0, bytesRead), start })) {
        const line = buffer.toString("utf8", row.offset - start, row.offset - start + row.length);
        const episode = tryParseJson<Episode>(line);
        if (episode?.id === row.id && hasText(episode, text)) matches.add(row.id);
        if (matches.size >= maximumMatches) break;
      }
      searched[file] = end;
    }
  };
  return {
    text,
    matches,
    get more() {
      return matches.size >= maximumMatches;
    },
    run: async (signal) => {
      for (const [file, path] of Object.entries(paths)) await lookThrough(file as EpisodeFile, path, signal);
    },
  };
}

/** Returns a pattern of the text's bytes, as Latin-1, in any case, as they are in a string of JSON. */
function bytePattern(text: string): RegExp {
  const characters = [...text].map((character) => {
    const cases = new Set([character, character.toLowerCase(), character.toUpperCase()]);
    return `(?:${[...cases].map(writtenPattern).join("|")})`;
  });
  return new RegExp(characters.join(""), "g");
}

function writtenPattern(text: string): string {
  const bytes = Buffer.from(JSON.stringify(text).slice(1, -1));
  return [...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}

/** Returns ranges of consecutive episodes that fit into a block. A single episode may be longer. */
function* blocks(rows: readonly IndexedRow[]): Generator<IndexedRow[], void, undefined> {
  let block: IndexedRow[] = [];
  for (const row of rows) {
    const start = block[0]?.offset ?? row.offset;
    if (block.length > 0 && row.offset + row.length - start > blockSize) {
      yield block;
      block = [];
    }
    block.push(row);
  }
  if (block.length > 0) yield block;
}

function* rowsWith(
  pattern: RegExp,
  options: { readonly block: readonly IndexedRow[]; readonly bytes: Buffer; readonly start: number },
): Generator<IndexedRow, void, undefined> {
  const { block, bytes, start } = options;
  const text = bytes.toString("latin1");
  let place = 0;
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const position = start + match.index;
    while (place < block.length && block[place]!.offset + block[place]!.length <= position) place += 1;
    const row = block[place];
    if (row === undefined) return;
    // Between two episodes there may be one that was played again.
    if (row.offset > position) continue;
    yield row;
    pattern.lastIndex = row.offset + row.length - start;
  }
}
