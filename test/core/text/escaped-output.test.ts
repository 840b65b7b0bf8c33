import fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import { errorText } from "../../../cli/error-text.ts";
import { configKeysText, namedInfoText } from "../../../cli/info-text.ts";
import { renderLine, span } from "../../../reports/training/terminal-text.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { warn } from "../../../src/core/text/warn.ts";

afterEach(() => void vi.restoreAllMocks());

const evil = "\u001b[2J\u009b31m\u202e\u0007\r\n\u2028\u200b\ud800";
const texts = fc
  .array(fc.oneof(fc.constantFrom(...evil, "a", " ", "\t"), fc.string({ unit: "binary" })), { maxLength: 12 })
  .map((parts) => parts.join(""));
/** What changes a terminal or begins another line of a log. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const acting = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/u;
const options = { width: 80, color: false };

it("nothing from outside acts on a terminal or begins a line of its own", () => {
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  fc.assert(
    fc.property(texts, (text) => {
      const key = { key: text, type: text, description: text, required: false, default: text };
      const info = { id: text, kind: "environment" as const, description: text, example: text, keys: [key] };
      for (const shown of [
        namedInfoText(info as never, options),
        configKeysText({ config: [key as never] }, options),
      ]) {
        expect(shown).not.toMatch(acting);
      }
      expect(renderLine([span(text, "bold")], { width: 1_000, color: false })).not.toMatch(/\n/);
      warn("Server", text);
      expect(warnings.mock.lastCall![0]).not.toMatch(acting);
      expect(warnings.mock.lastCall![0]).not.toMatch(/\n/);
      const error = new LyceumError({ code: "environment.failed", message: text, hint: text });
      for (const thrown of [error, new Error(text)]) {
        const lines = errorText(thrown, { debug: false }).split("\n");
        expect(lines.filter((line, place) => place > 0 && line !== "" && !line.startsWith(" "))).toEqual([]);
        expect(lines.join("").replaceAll("\t", "")).not.toMatch(acting);
      }
    }),
    { examples: [[evil], ["a\nerror[config.invalid]: forged"]] },
  );
});

it("a warning has a limited length", () => {
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  warn("Server", "x".repeat(1_000_000));
  expect(String(warnings.mock.lastCall![0]).length).toBeLessThan(2_100);
});
