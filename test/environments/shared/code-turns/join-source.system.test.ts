import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { joinSource } from "../../../../environments/shared/code-turns/join-source.ts";

it("puts pieces on separate lines and returns where each begins", () => {
  expect(joinSource("javascript", ["a", "b\nc\n", "", "d"])).toEqual({
    source: "a\nb\nc\nd\n",
    linesBefore: [0, 1, 3, 3],
  });
});

it("puts imports from __future__ first and keeps the positions of all other lines", () => {
  const piece = '"""Doc."""\nfrom __future__ import (\n    annotations,\n)\nx = 1';
  const { source, linesBefore } = joinSource("python", ["y = 0", piece, "from __future__ import division; z = 2"]);
  const lines = source.split("\n");
  expect(lines.slice(0, 2).every((line) => line.startsWith("from __future__"))).toBe(true);
  expect(linesBefore).toEqual([2, 3, 8]);
  expect(lines[linesBefore[1]! + 4]).toBe("x = 1");
  expect(lines[linesBefore[2]!]).toContain("z = 2");
  execFileSync("python3", ["-c", source]);
});

it("ignores text that only looks like such an import", () => {
  const text = "s = '''\nfrom __future__ import annotations\n'''\ndef f():\n    pass\n";
  expect(joinSource("python", [text]).source).toBe(text);
  const unreadable = "from __future__ import annotations\nx = 'open";
  expect(joinSource("python", [unreadable]).source).toBe(`${unreadable}\n`);
  expect(joinSource("javascript", ["from __future__ import x"]).source).toBe("from __future__ import x\n");
});
