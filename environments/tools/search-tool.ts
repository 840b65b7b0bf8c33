import { z } from "zod";
import { defineTool, type Tool } from "./tool.ts";

/** One thing that was found. */
export interface SearchResult {
  readonly title: string;
  readonly text: string;
  readonly url?: string;
}

/** Something that finds texts. */
export interface SearchEngine {
  readonly name: string;
  /** The best results first, at most `limit`. Rejects with `data.unavailable` where the engine does not answer. */
  search(
    query: string,
    options: { readonly limit: number; readonly signal: AbortSignal },
  ): Promise<readonly SearchResult[]>;
}

/** A tool that searches: the three best results, by title, text and address. */
export function searchTool(engine: SearchEngine): Tool {
  return defineTool({
    name: "web_search",
    description: "Searches for texts on a subject and gives the three best.",
    parameters: z.strictObject({ query: z.string().min(1).max(300) }),
    call: async ({ query }, { signal }) => {
      const results = await engine.search(query, { limit: 3, signal });
      if (results.length === 0) return "Nothing was found. Try other words.";
      return results
        .map(({ title, text, url }, i) => [`${i + 1}. ${title}`, text, url].filter(Boolean).join("\n"))
        .join("\n\n");
    },
  });
}
