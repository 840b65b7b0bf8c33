import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../examples/run-program.ts";

/** The names that an entry point exports, from its source: `export { name, type Name } from "..."`. */
async function exportedNames(source: string): Promise<string[]> {
  const text = await readFile(join(repository, source), "utf8");
  expect(text, source).not.toMatch(/^export (?!type \{|\{|const )/m);
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap((match) => match[1]!.split(","));
  const constants = [...text.matchAll(/^export const (\w+)/gm)].map((match) => match[1]!);
  const listed = lists.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== "");
  return [...listed, ...constants].toSorted();
}

async function publicApi(): Promise<Map<string, string[]>> {
  const manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  const api = new Map<string, string[]>();
  for (const [path, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string") continue;
    const source = target.types.replace(/^\.\/dist\/(.+)\.d\.ts$/, "$1.ts");
    api.set(`lyceum${path.slice(1)}`, await exportedNames(source));
  }
  return api;
}

test("the exports of every entry point are those of public-api.txt", async () => {
  const lines = [...(await publicApi())].map(([entryPoint, names]) => [entryPoint, ...names].join("\n  "));
  await expect(`${lines.join("\n\n")}\n`).toMatchFileSnapshot("public-api.txt");
});

test("the root entry point exports at most 60 names", async () => {
  expect((await publicApi()).get("lyceum")!.length).toBeLessThanOrEqual(60);
});

test("no name has two entry points", async () => {
  const names = [...(await publicApi()).values()].flat();
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
