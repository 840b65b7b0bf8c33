import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  braveSearch,
  type SearchEngine,
  searxngSearch,
  tavilySearch,
  toolsEnvironment,
} from "../../../environments/index.ts";
import { callText, play, replyOf, rewardOf } from "./play.ts";
import { serve } from "./serve.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const search = (engine: SearchEngine) =>
  engine.search("high & low?", { limit: 2, signal: new AbortController().signal });
const found = [1, 2, 3].map((i) => ({ title: `t${i}`, url: `https://example.com/${i}`, text: `text ${i}` }));
const contents = { results: found.map(({ text, ...rest }) => ({ ...rest, content: text, score: 1 })) };
const services: readonly [
  string,
  (url: string) => SearchEngine,
  unknown,
  (request: Request) => Promise<unknown>,
  unknown,
][] = [
  [
    "SearXNG",
    (url) => searxngSearch({ url: `${url}/searx` }),
    contents,
    async ({ url }) => [new URL(url).pathname, ...new URL(url).searchParams.values()],
    ["/searx/search", "high & low?", "json"],
  ],
  [
    "Brave",
    (url) => braveSearch({ url, apiKey: "secret-key" }),
    { web: { results: found.map(({ text, ...rest }) => ({ ...rest, description: text })) } },
    async ({ url, headers }) => [...new URL(url).searchParams.values(), headers.get("x-subscription-token")],
    ["high & low?", "2", "secret-key"],
  ],
  [
    "Tavily",
    (url) => tavilySearch({ url, apiKey: "secret-key" }),
    contents,
    async (request) => [request.method, request.headers.get("authorization"), await request.json()],
    ["POST", "Bearer secret-key", { query: "high & low?", max_results: 2 }],
  ],
];

describe.each(services)("%s", (_, engine, body, asked, request) => {
  test("gets requests in the form of its API, and its results are parsed", async () => {
    const seen: unknown[] = [];
    await using server = await serve(async (incoming) => {
      seen.push(await asked(incoming));
      return Response.json(body);
    });
    expect(await search(engine(server.url))).toEqual(found.slice(0, 2));
    expect(seen).toEqual([request]);
  });

  test.each<[string, () => Response]>([
    ["a refused key", () => new Response("secret-key", { status: 401 })],
    ["too many requests", () => new Response("", { status: 429 })],
    ["no JSON", () => new Response("<html>")],
    ["other JSON", () => Response.json({ results: [1], web: 7 })],
  ])("%s is data.unavailable, without the key", async (_case, response) => {
    await using server = await serve(response);
    const error: unknown = await search(engine(server.url)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "data.unavailable" });
    expect(String((error as Error).message)).not.toContain("secret-key");
  });

  test.each(["with a length", "in pieces"])("reads at most the limit of an endless answer %s", async (how) => {
    let sent = 0;
    const piece = Buffer.alloc(2 ** 20, " ");
    const server = createServer((_request, response) => {
      response.writeHead(200, how === "in pieces" ? {} : { "content-length": String(300 * piece.length) });
      const send = (): void => {
        while (!response.destroyed && sent < 300 * piece.length) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once("drain", send);
        }
        response.end();
      };
      send();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    await expect(search(engine(`http://127.0.0.1:${port}`))).rejects.toMatchObject({
      code: "data.unavailable",
      message: expect.stringContaining("longer than 8388608 bytes"),
    });
    expect(sent).toBeLessThan(100 * piece.length);
  });

  test("the key does not follow a redirect, neither to another origin nor to the same", async () => {
    const seen: string[] = [];
    await using other = await serve((request) => {
      seen.push(JSON.stringify([...request.headers]));
      return Response.json(body);
    });
    for (const [status, location] of [
      [302, other.url],
      [307, other.url],
      [308, "/elsewhere"],
    ] as const) {
      await using server = await serve(() => new Response("", { status, headers: { location } }));
      const error: unknown = await search(engine(server.url)).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "data.unavailable", message: expect.stringContaining("redirect") });
    }
    expect(seen).toEqual([]);
  });

  test("an address with a password is data.unavailable, and is not shown", async () => {
    const error: unknown = await search(engine("http://name:secret-key@127.0.0.1:1")).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: "data.unavailable" });
    expect((error as Error).message).not.toContain("secret-key");
  });

  test("a missing server is data.unavailable; an abort rejects with the signal's reason", async () => {
    await expect(search(engine("http://127.0.0.1:1"))).rejects.toMatchObject({ code: "data.unavailable" });
    await using server = await serve(() => Response.json(body));
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(engine(server.url).search("x", { limit: 1, signal })).rejects.toThrow("enough");
  });
});

test("keys come from environment variables, and a missing key or address is an error", async () => {
  vi.stubEnv("BRAVE_API_KEY", "");
  vi.stubEnv("TAVILY_API_KEY", "");
  for (const engine of ["brave", "tavily", "searxng"] as const) {
    expect(() => toolsEnvironment({ engine })).toThrow(expect.objectContaining({ code: "config.invalid" }));
  }
  vi.stubEnv("BRAVE_API_KEY", "from-variable");
  let key: string | null = "";
  await using server = await serve(({ headers }) => {
    key = headers.get("x-subscription-token");
    return Response.json({ web: { results: [] } });
  });
  const environment = toolsEnvironment({ engine: "brave", engineUrl: server.url });
  const task = { question: "?", answer: "1", tools: [] };
  const [result] = await play(environment, task, [callText("web_search", { query: "x" })]);
  expect(replyOf(result)).toContain("Nothing was found");
  expect(key).toBe("from-variable");
  expect(environment.spec.deterministic).toBe(false);
});

test("a service is retried once, and then the episode is unscored", async () => {
  const task = { question: "?", answer: "1", tools: [] };
  const call = callText("web_search", { query: "x" });
  for (const [failures, result] of [
    [1, "Nothing was found"],
    [2, "unscored"],
  ] as const) {
    let asked = 0;
    await using server = await serve(() =>
      ++asked <= failures ? new Response("", { status: 503 }) : Response.json({ results: [] }),
    );
    const results = await play(toolsEnvironment({ engine: "searxng", engineUrl: server.url }), task, [call]);
    expect(rewardOf(results) ?? replyOf(results[0])).toContain(result);
    expect(asked).toBe(2);
  }
});

test("a service that does not answer in time leaves the episode unscored", async () => {
  await using server = await serve(() => new Promise(() => {}));
  const environment = toolsEnvironment({ engine: "searxng", engineUrl: server.url, callSeconds: 0.05 });
  const task = { question: "?", answer: "1", tools: [] };
  const results = await play(environment, task, [callText("web_search", { query: "x" })]);
  expect(results[0]!.agents.agent!.reward).toMatchObject({
    status: "unscored",
    reason: expect.stringContaining("did not answer within 0.05 s"),
  });
});

test("a service that is down leaves the episode unscored", async () => {
  const environment = toolsEnvironment({ engine: "searxng", engineUrl: "http://127.0.0.1:1" });
  const task = { question: "?", answer: "1", tools: [] };
  expect(rewardOf(await play(environment, task, [callText("web_search", { query: "x" })]))).toBe("unscored");
});
