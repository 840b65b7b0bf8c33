import { expect, test } from "vitest";
import { documents, facts } from "../../../environments/tools/documents.ts";
import { offlineSearch } from "../../../environments/tools/offline-search.ts";

const engine = offlineSearch(documents);
const search = (query: string, limit = 3) => engine.search(query, { limit, signal: new AbortController().signal });

test("there are 60 documents with distinct titles, and each contains its facts", () => {
  expect(new Set(documents.map(({ title }) => title)).size).toBe(60);
  for (const { title, value } of facts) {
    expect(documents.find((document) => document.title === title)!.text.split(/\D+/)).toContain(String(value));
  }
});

test("the document of a question is the first result", async () => {
  for (const { title, phrase } of facts) expect((await search(`${title}: ${phrase}`))[0]?.title).toBe(title);
});

test("unknown words find nothing, and rare words count more than frequent ones", async () => {
  expect(await search("zzz qqq")).toEqual([]);
  expect(await search("...")).toEqual([]);
  expect((await search("mountain mountain mountain karakoram"))[0]?.title).toBe("K2");
  expect((await search("FLORENCE nightingale"))[0]?.title).toBe("Florence Nightingale");
  expect(await search("mountain", 2)).toHaveLength(2);
  expect(await search("the")).toEqual(await search("the"));
  expect(await offlineSearch([]).search("x", { limit: 3, signal: new AbortController().signal })).toEqual([]);
});
