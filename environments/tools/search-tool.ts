import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { defineTool, type Tool } from "../../src/core/tools/tool.ts";

/** A search result. */
export interface SearchResult {
  readonly title: string;
  readonly text: string;
  readonly url?: string;
}

/** A search engine. */
export interface SearchEngine {
  readonly name: string;
  /** Returns at most `limit` results, best first. Rejects with `data.unavailable` if the engine does not answer. */
  search(
    query: string,
    options: { readonly limit: number; readonly signal: AbortSignal },
  ): Promise<readonly SearchResult[]>;
}

/** The timeout of an attempt, and the pause before the retry. */
const [attemptMs, pauseMs] = [10_000, 500];

/**
 * Creates a tool that returns the title, text and address of the three best results. A failed search is retried once.
 * If the retry fails, the call rejects with `data.unavailable` and the episode is unscored.
 */
export function searchTool(engine: SearchEngine): Tool {
  return defineTool({
    description: "Searches for texts on a subject and returns the three best.",
    inputSchema: z.strictObject({ query: z.string().min(1).max(300) }),
    asksService: true,
    execute: async ({ query }, { signal }) => {
      const results = await searchTwice(engine, query, signal);
      if (results.length === 0) return "Nothing was found. Try other words.";
      return results
        .map(({ title, text, url }, i) => [`${i + 1}. ${title}`, text, url].filter(Boolean).join("\n"))
        .join("\n\n");
    },
  });
}

async function searchTwice(engine: SearchEngine, query: string, signal: AbortSignal): Promise<readonly SearchResult[]> {
  const attempt = async (): Promise<readonly SearchResult[]> => {
    const late = AbortSignal.timeout(attemptMs);
    try {
      return await engine.search(query, { limit: 3, signal: AbortSignal.any([signal, late]) });
    } catch (error) {
      signal.throwIfAborted();
      if (!late.aborted) throw error;
      throw new LyceumError({
        code: "data.unavailable",
        message: `The search engine ${engine.name} did not answer within ${attemptMs / 1000} s.`,
        hint: "Check that it runs.",
      });
    }
  };
  try {
    return await attempt();
  } catch (error) {
    signal.throwIfAborted();
    if (!LyceumError.isInstance(error) || error.code !== "data.unavailable") throw error;
    await setTimeout(pauseMs, undefined, { signal });
    return attempt();
  }
}
