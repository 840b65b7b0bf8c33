import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportExamples } from "../docs/export-examples.ts";
import { repository } from "../examples/run-program.ts";

const execute = promisify(execFile);
let folder: string;
let pages: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-site-"));
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  await execute(npm, ["ci", "--prefix", "site", "--no-audit", "--no-fund"], { cwd: repository });
  await execute(process.execPath, ["site/build.ts", folder], { cwd: repository });
  pages = await Array.fromAsync(glob("**/*.html", { cwd: folder }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the site", () => {
  it("is built by a program without type errors", async () => {
    const compiler = join(repository, "node_modules/typescript/bin/tsc");
    const { stdout } = await execute(process.execPath, [compiler, "-p", "site"], { cwd: repository });
    expect(stdout).toBe("");
  });

  it("has a page of every document in the list", async () => {
    const list = await readFile(join(repository, "docs/README.md"), "utf8");
    const targets = [...list.matchAll(/^- \[.+?\]\((\S+)\.md\)/gm)].map((match) => match[1]!);
    expect(targets.length).toBeGreaterThan(40);
    expect(targets.filter((path) => !existsSync(join(folder, "docs", `${path}.html`)))).toEqual([]);
  });

  it("has a page of every export of the root, with its example", async () => {
    const names = (await exportExamples(join(repository, "src/index.ts"))).map(({ name }) => name);
    const without: string[] = [];
    for (const name of names) {
      const page = pages.find((path) => path.endsWith(`/lyceum.${name}.html`));
      const text = page === undefined ? "" : await readFile(join(folder, page), "utf8");
      if (!text.includes("Example")) without.push(name);
    }
    expect(without).toEqual([]);
  });

  it("has no link that leads nowhere", async () => {
    const texts = new Map<string, string>();
    for (const page of pages) texts.set(join(folder, page), await readFile(join(folder, page), "utf8"));
    const dead: string[] = [];
    for (const [page, text] of texts) {
      for (const [, link = ""] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
        if (/^(https?|data|mailto|javascript):/.test(link)) continue;
        const [path = "", anchor = ""] = decodeURI(link.replaceAll("&amp;", "&")).split("#");
        const target = path === "" ? page : join(dirname(page), path);
        const found = texts.get(target);
        const complete = anchor === "" || found === undefined || found.includes(`id="${anchor}"`);
        if (!existsSync(target) || !complete) dead.push(`${page.slice(folder.length + 1)}: ${link}`);
      }
    }
    expect(dead).toEqual([]);
  });

  it("finds terms in documents and in the API", async () => {
    const script = await readFile(join(folder, "assets/search.js"), "utf8");
    const packed = Buffer.from(/"([^"]+)"/.exec(script)![1]!, "base64");
    const data = JSON.parse(inflateSync(packed).toString()) as {
      readonly rows: readonly { readonly name: string }[];
      readonly index: object;
    };
    const lunr = createRequire(join(repository, "site/node_modules/typedoc/package.json"))("lunr") as {
      readonly Index: { load(index: object): { search(query: string): readonly { readonly ref: string }[] } };
    };
    const index = lunr.Index.load(data.index);
    const namesOf = (query: string): string[] => index.search(query).map(({ ref }) => data.rows[Number(ref)]!.name);
    expect(namesOf("defineEnvironment")).toContain("defineEnvironment");
    expect(namesOf("unscored")).toContain("Concepts");
    expect(namesOf("tournament")).toContain("Evaluate a model");
    expect(namesOf("checkpoint.unusable")).toContain("Errors");
  });
});
