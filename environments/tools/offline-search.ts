import type { SearchDocument } from "./documents.ts";
import type { SearchEngine } from "./search-tool.ts";

/** The parameters k1 (saturation of repeated words) and b (penalty of long texts) of BM25, with their usual values. */
const [saturation, lengthPenalty] = [1.2, 0.75];

interface IndexedDocument {
  readonly document: SearchDocument;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

/**
 * Searches documents in memory with BM25 (Robertson and Zaragoza 2009, https://doi.org/10.1561/1500000019). Words of
 * titles count twice. Results are deterministic, best first, and contain only documents with a word of the query.
 */
export function offlineSearch(documents: readonly SearchDocument[]): SearchEngine {
  const indexed = documents.map(indexedDocument);
  const averageLength = indexed.reduce((sum, { length }) => sum + length, 0) / Math.max(1, indexed.length);
  const frequencies = new Map<string, number>();
  for (const { counts } of indexed) {
    for (const word of counts.keys()) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
  }
  const weight = (word: string): number => {
    const frequency = frequencies.get(word) ?? 0;
    return Math.log(1 + (indexed.length - frequency + 0.5) / (frequency + 0.5));
  };
  const score = ({ counts, length }: IndexedDocument, words: ReadonlySet<string>): number => {
    const penalty = saturation * (1 - lengthPenalty + (lengthPenalty * length) / averageLength);
    let sum = 0;
    for (const word of words) {
      const count = counts.get(word) ?? 0;
      sum += (weight(word) * count * (saturation + 1)) / (count + penalty);
    }
    return sum;
  };
  return {
    name: "offline",
    search: async (query, { limit }) => {
      const words = new Set(wordsOf(query));
      return indexed
        .map((entry) => ({ ...entry.document, score: score(entry, words) }))
        .filter((result) => result.score > 0)
        .toSorted((a, b) => b.score - a.score)
        .slice(0, limit)
        .map(({ title, text }) => ({ title, text }));
    },
  };
}

function indexedDocument(document: SearchDocument): IndexedDocument {
  const words = wordsOf(`${document.title} ${document.title} ${document.text}`);
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { document, counts, length: words.length };
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}
