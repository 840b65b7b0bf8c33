import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changedLines, programChange } from "../../../environments/bug-fix/program-change.ts";

describe("the size of a change", () => {
  const program = 'def f(a):\n    """Doc."""\n    b = a + 1\n    return b * 2\n';
  it.each([
    ["nothing", program, 0],
    ["comments and blank lines", `# c\n\n${program}\n# d`, 0],
    ["spaces within a line", program.replace("a + 1", "a+1"), 0],
    ["one token", program.replace("+", "-"), 1],
    ["an indentation", program.replace("    return", "        return"), 1],
    ["a line less", program.replace("    b = a + 1\n", ""), 6],
    ["two tokens apart", program.replace("+", "-").replace("2", "3"), 2],
    ["a docstring less", program.replace('    """Doc."""\n', ""), 2],
  ])("%s", (_, after, tokens) => {
    expect(programChange(program, after)?.tokens).toBe(tokens);
    expect(programChange(after, program)?.tokens).toBe(tokens);
  });

  it("is undefined for text that is not Python", () => {
    expect(programChange(program, "def f(a:\n  '")).toBeUndefined();
  });

  it("is a metric", () => {
    const source = fc
      .array(fc.constantFrom("a", "b", "+", "\n", "1"), { maxLength: 8 })
      .map((parts) => parts.join(" "));
    fc.assert(
      fc.property(source, source, source, (x, y, z) => {
        const distance = (from: string, to: string): number => programChange(from, to)!.tokens;
        expect(distance(x, x)).toBe(0);
        expect(distance(x, y)).toBe(distance(y, x));
        expect(distance(x, z)).toBeLessThanOrEqual(distance(x, y) + distance(y, z));
        const { share } = programChange(x, y)!;
        expect(share).toBeGreaterThanOrEqual(0);
        expect(share).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("of a huge text is its length, without delay", () => {
    const huge = "x = [\n".concat("1,\n".repeat(400_000), "]\n");
    expect(programChange(program, huge)?.share).toBe(1);
  });
});

describe("changed lines", () => {
  it.each<[string, string, string, readonly number[]]>([
    ["none", "a\nb\nc", "a\nb\nc", []],
    ["one", "a\nB\nc", "a\nb\nc", [2]],
    ["two apart", "A\nb\nC", "a\nb\nc", [1, 3]],
    ["both sides of a gap", "a\nc", "a\nb\nc", [1, 2]],
    ["the last before a gap at the end", "a\nb", "a\nb\nc", [2]],
    ["the first after a gap at the start", "b\nc", "a\nb\nc", [1]],
    ["one too many", "a\nx\nb", "a\nb", [2]],
    ["a line and a gap", "A\nc", "a\nb\nc", [1]],
  ])("%s", (_, program, other, lines) => {
    expect(changedLines(program, other)).toEqual(lines);
  });

  it("are in the program, and exist exactly if the programs differ", () => {
    const source = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 7 }).map((l) => l.join("\n"));
    fc.assert(
      fc.property(source, source, (program, other) => {
        const lines = changedLines(program, other);
        const count = program.split("\n").length;
        for (const line of lines) expect(line >= 1 && line <= count).toBe(true);
        expect(lines.length === 0).toBe(program === other);
        // The unmarked lines are in the other program, in order.
        const kept = program.split("\n").filter((_, i) => !lines.includes(i + 1));
        let at = 0;
        for (const line of other.split("\n")) if (line === kept[at]) at++;
        expect(at).toBe(kept.length);
      }),
    );
  });
});
