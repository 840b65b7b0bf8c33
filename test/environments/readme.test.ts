import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { environments } from "../../environments/index.ts";

describe.each(environments.list())("the README of $id", ({ id, options }) => {
  const readme = readFile(join(import.meta.dirname, "../../environments", id, "README.md"), "utf8");

  test("lists every option in its table, and no other", async () => {
    const rows = [...(await readme).matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]);
    expect(rows.toSorted()).toEqual(Object.keys(options.shape).toSorted());
  });

  test("has an example that creates the environment", async () => {
    const example = parse(/```yaml\n([^`]*)```/.exec(await readme)![1]!) as { environment: Record<string, unknown> };
    const { id: named, ...rest } = example.environment;
    expect(named).toBe(id);
    expect(environments.create(id, rest).spec.id).toBe(id);
  });
});
