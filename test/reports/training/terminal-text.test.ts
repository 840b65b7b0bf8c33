import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sparkline } from "../../../reports/training/sparkline.ts";
import { displayWidth, renderLine, span, truncateText, wrapText } from "../../../reports/training/terminal-text.ts";
import { formatCount, formatDuration, formatNumber } from "../../../src/core/text/format-numbers.ts";
import { visibleLine, visibleText } from "../../../src/core/text/visible-text.ts";

const nasty = fc.string({
  unit: fc.constantFrom(
    ..."ab \n\t\r\u0000\u0007\b\u001B[]\u007F\u0085\u009B\u200B\u200E\u202E\u2066\u2069\uFEFF\uD800\uDC00",
    "\u001B[2J",
    "\u001B]0;title\u0007",
    "日本",
    "한",
    "é",
    "e\u0301",
    "👩‍👩‍👧",
    "❤️",
    "🏳️‍🌈",
    "\u{E0041}",
  ),
  maxLength: 40,
});

describe("visibleText", () => {
  it("shows characters that affect a terminal", () => {
    expect(visibleText("a\u001B[2Jb\u0007\r\n\tc")).toBe("a\\x1b[2Jb\\x07\\r\n\tc");
    expect(visibleText("\u009B\u202Eabc\u{E0041}\uD800")).toBe("\\x9b\\u202eabc\\u{e0041}\\ud800");
    expect(visibleText("naïve 日本 👩‍👩‍👧 ❤️")).toBe("naïve 日本 👩‍👩‍👧 ❤️");
    expect(visibleLine("a\nb\tc")).toBe("a⏎b c");
  });

  it.each([
    ...[
      0x34f, 0x2800, 0x1d173, 0x1d17a, 0xffff, 0xfffe, 0xfdd0, 0x1ffff, 0x10fffe, 0x17b4, 0x17b5, 0x180b, 0x180f,
      0x1bca0,
    ],
    ...[
      0xad, 0x61c, 0x115f, 0x1160, 0x180e, 0x200b, 0x200e, 0x2028, 0x2029, 0x202e, 0x2060, 0x2069, 0x206f, 0x3164,
      0xfeff,
    ],
    ...[0xfff0, 0xfff9, 0xffa0, 0xe0001, 0xe0100, 0x7f, 0x9b, 0xd800],
  ])("shows U+%s", (code) => {
    const character = String.fromCodePoint(code);
    expect(visibleLine(`a${character}b`)).toMatch(/^a\\(?:x[\da-f]{2}|u[\da-f]{4}|u\{[\da-f]+\})b$/);
  });

  it.each([
    "\u200D",
    "\u200C",
    "\uFE0F",
    "\u00A0",
    "\u3000",
    "\u2801",
    "é",
    "e\u0301",
    "\uE000",
    "\u{1D172}",
    "क्‍ष",
    "\uFFFD",
  ])("keeps %j", (text) => expect(visibleLine(`a${text}b`)).toBe(`a${text}b`));

  it("leaves no control, bidirectional or surrogate character, and is stable", () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const line = visibleLine(text);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is left is the property
        expect(line).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/);
        expect(line.isWellFormed()).toBe(true);
        expect(visibleLine(line)).toBe(line);
      }),
    );
  });
});

describe("displayWidth", () => {
  it("counts columns, not characters", () => {
    expect(displayWidth("abc")).toBe(3);
    expect(displayWidth("日本語")).toBe(6);
    expect(displayWidth("e\u0301")).toBe(1);
    expect(displayWidth("🙂")).toBe(2);
    expect(displayWidth("▁█━…")).toBe(4);
  });
});

describe("truncateText, wrapText, renderLine", () => {
  it("never exceed the width, for any text", () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 2, max: 30 }), fc.integer({ min: 1, max: 4 }), (text, width, rows) => {
        const line = visibleLine(text);
        expect(displayWidth(truncateText(line, width))).toBeLessThanOrEqual(width);
        for (const part of wrapText(line, width)) expect(displayWidth(part)).toBeLessThanOrEqual(width);
        const wrapped = wrapText(line, width, rows);
        expect(wrapped.length).toBeLessThanOrEqual(rows);
        for (const part of wrapped) expect(displayWidth(part)).toBeLessThanOrEqual(width);
        const rendered = renderLine([span(line, "red"), span(line)], { width, color: false });
        expect(displayWidth(rendered)).toBeLessThanOrEqual(width);
      }),
    );
  });

  it("keep a text that fits, and mark a cut", () => {
    expect(truncateText("abcdef", 6)).toBe("abcdef");
    expect(truncateText("abcdef", 5)).toBe("abcd…");
    expect(truncateText("日本語", 4)).toBe("日…");
    expect(wrapText("abcdefgh", 3, 5)).toEqual(["abc", "def", "gh"]);
    expect(wrapText("abcdefgh", 3, 2)).toEqual(["abc", "de…"]);
    expect(wrapText("", 3, 2)).toEqual([""]);
  });

  it("break lines at spaces", () => {
    const text = "Failed to load shared library libcudart.so.12";
    expect(wrapText(text, 24)).toEqual(["Failed to load shared", "library libcudart.so.12"]);
    expect(wrapText(text, 24, 1)).toEqual(["Failed to load shared l…"]);
    expect(wrapText("full line", 4)).toEqual(["full", "line"]);
    expect(wrapText("a abcdefgh b", 4)).toEqual(["a", "abcd", "efgh", "b"]);
    expect(wrapText("   indented much", 8)).toEqual(["indented", "much"]);
    expect(wrapText("trailing    ", 8)).toEqual(["trailing"]);
    expect(wrapText("      ", 3)).toEqual([""]);
    expect(wrapText(" kept ", 6)).toEqual([" kept "]);
  });

  it("keep every word that fits on a line whole, lose nothing, and waste no space", () => {
    const words = fc.array(
      fc.string({ unit: fc.constantFrom("a", "b", "é", "語", "👩‍👩‍👧"), minLength: 1, maxLength: 12 }),
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 30 }), (parts, width) => {
        const lines = wrapText(parts.join(" "), width);
        expect(lines.join("").replaceAll(" ", "")).toBe(parts.join(""));
        const whole = (word: string): boolean => displayWidth(word) <= width;
        const shown = lines.flatMap((line) => line.split(" "));
        if (parts.every(whole) && parts.length > 0) expect(shown).toEqual(parts);
        for (const [index, line] of lines.slice(1).entries()) {
          const next = line.split(" ")[0]!;
          if (parts.every(whole)) expect(displayWidth(`${lines[index]} ${next}`)).toBeGreaterThan(width);
        }
      }),
    );
  });

  it("use colours only if requested", () => {
    const spans = [span("red", "red"), span(" plain")];
    expect(renderLine(spans, { width: 80, color: false })).toBe("red plain");
    expect(renderLine(spans, { width: 80, color: true })).toBe("\u001B[31mred\u001B[39m plain");
  });
});

describe("sparkline", () => {
  it("draws the lowest value shortest and the highest value tallest", () => {
    expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe("▁▂▃▄▅▆▇█");
    expect(sparkline([5, 5, 5], 8)).toBe("▄▄▄");
    expect(sparkline([0, Number.NaN, 1], 8)).toBe("▁×█");
    expect(sparkline([], 8)).toBe("");
    expect(sparkline([1, 2, 3], 0)).toBe("");
    expect(sparkline([Number.NaN], 4)).toBe("×");
  });

  it("averages values that do not fit", () => {
    expect(sparkline([0, 0, 1, 1], 2)).toBe("▁█");
    fc.assert(
      fc.property(fc.array(fc.double(), { maxLength: 50 }), fc.integer({ min: 1, max: 20 }), (values, width) => {
        expect(displayWidth(sparkline(values, width))).toBe(Math.min(values.length, width));
      }),
    );
  });
});

describe("formats", () => {
  it("write numbers for people", () => {
    expect(
      [0, 0.61234, 12.3456, 1234.5, 1e-5, 1.5e-7, 12_345_678, 3e12, -0.5, Number.NaN, -Infinity].map(formatNumber),
    ).toEqual(["0", "0.6123", "12.35", "1,235", "1e-5", "1.5e-7", "12,345,678", "3e12", "-0.5", "NaN", "-Infinity"]);
    expect([0, 950, 9999, 12_345, 134_515_008, 1.5e9].map(formatCount)).toEqual([
      "0",
      "950",
      "9,999",
      "12.35K",
      "134.5M",
      "1.5B",
    ]);
  });

  it("write durations in two units, and carry over", () => {
    expect(
      [0, 850, 999.6, 4200, 59_949, 59_960, 185_000, 3_599_600, 7_830_000, 86_400_000 * 3.2].map(formatDuration),
    ).toEqual(["0 ms", "850 ms", "1.0 s", "4.2 s", "59.9 s", "1m 00s", "3m 05s", "1h 00m", "2h 11m", "3d 05h"]);
    expect(formatDuration(Number.NaN)).toBe("–");
  });
});
