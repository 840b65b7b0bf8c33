import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { withoutUrlSecrets } from "../../src/core/text/secrets.ts";
import type { SearchEngine, SearchResult } from "./search-tool.ts";

/** The maximum size of an answer, in bytes. */
const maxBytes = 8 * 2 ** 20;

/** The address and the key of a search service. */
export interface WebSearchOptions {
  /** The address of the service. Defaults to its public address. SearXNG has none; you run your own server. */
  readonly url?: string | undefined;
  /** Defaults to the environment variable `BRAVE_API_KEY` or `TAVILY_API_KEY`. */
  readonly apiKey?: string | undefined;
}

/**
 * Searches with your own SearXNG server at `url`. Its settings must allow the format `json`. Throws `config.invalid`
 * without a url.
 */
export function searxngSearch({ url }: WebSearchOptions): SearchEngine {
  if (url === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: "SearXNG has no public address.",
      hint: "Give the address of your server, such as http://localhost:8080.",
    });
  }
  return {
    name: "searxng",
    search: async (query, { limit, signal }) => {
      const address = new URL("search", url.endsWith("/") ? url : `${url}/`);
      address.search = new URLSearchParams({ q: query, format: "json" }).toString();
      const { results } = await ask("SearXNG", contentResults, address, { signal });
      return results.slice(0, limit).map(fromContent);
    },
  };
}

/** Searches with the Brave Search API. Throws `config.invalid` without a key. */
export function braveSearch(options: WebSearchOptions = {}): SearchEngine {
  const key = requiredKey("Brave", options, "BRAVE_API_KEY");
  return {
    name: "brave",
    search: async (query, { limit, signal }) => {
      const address = new URL(options.url ?? "https://api.search.brave.com/res/v1/web/search");
      address.search = new URLSearchParams({ q: query, count: String(limit) }).toString();
      const { web } = await ask("Brave", braveResults, address, {
        headers: { accept: "application/json", "x-subscription-token": key },
        signal,
      });
      const results = web?.results.slice(0, limit) ?? [];
      return results.map(({ title, url, description }) => ({ title, url, text: description }));
    },
  };
}

/** Searches with the Tavily API. Throws `config.invalid` without a key. */
export function tavilySearch(options: WebSearchOptions = {}): SearchEngine {
  const key = requiredKey("Tavily", options, "TAVILY_API_KEY");
  return {
    name: "tavily",
    search: async (query, { limit, signal }) => {
      const { results } = await ask("Tavily", contentResults, new URL(options.url ?? "https://api.tavily.com/search"), {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify({ query, max_results: limit }),
        signal,
      });
      return results.slice(0, limit).map(fromContent);
    },
  };
}

const contentResults = z.object({
  results: z.array(z.object({ title: z.string(), url: z.string(), content: z.string().nullish() })),
});
const braveResults = z.object({
  web: z
    .object({ results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().default("") })) })
    .optional(),
});

function fromContent(result: z.output<typeof contentResults>["results"][number]): SearchResult {
  return { title: result.title, url: result.url, text: result.content ?? "" };
}

function requiredKey(service: string, { apiKey }: WebSearchOptions, variable: string): string {
  const key = apiKey ?? process.env[variable];
  if (key !== undefined && key !== "") return key;
  throw new LyceumError({
    code: "config.invalid",
    message: `A search with ${service} needs a key.`,
    hint: `Set the environment variable ${variable}.`,
  });
}

/**
 * Requests an answer from a service and validates it. Rejects with `data.unavailable`, whose message never contains the
 * key, or with the signal's reason.
 */
async function ask<Schema extends z.ZodType>(
  service: string,
  schema: Schema,
  address: URL,
  init: RequestInit & { readonly signal: AbortSignal },
): Promise<z.output<Schema>> {
  let response: Response;
  let body: unknown;
  try {
    // The key must not reach another address, so redirects are errors.
    response = await fetch(address, { ...init, redirect: "error" });
    body = response.ok ? JSON.parse(await readBody(response)) : await response.body?.cancel();
  } catch (error) {
    init.signal.throwIfAborted();
    throw unavailable(
      `${service} cannot be reached, or its answer is not JSON: ${reasonOf(error)}`,
      "Check its address.",
    );
  }
  if (!response.ok) {
    const hint = [401, 403].includes(response.status) ? "Check the key." : "Send requests more slowly, or retry later.";
    throw unavailable(`${service} answered with status ${response.status}.`, hint);
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw unavailable(`${service} did not answer with search results.`, "Check its address.");
}

/** Returns the text of an answer. Stops reading and throws if the answer is longer than any page of results. */
async function readBody({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    length += piece.length;
    if (length > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(pieces));
}

/**
 * Returns the cause of a `fetch failed` error, which is more informative. Removes secrets, because some messages quote
 * the address.
 */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return withoutUrlSecrets(String(cause));
}

function unavailable(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "data.unavailable", message, hint });
}
