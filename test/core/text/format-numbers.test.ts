import fc from "fast-check";
import { expect, it } from "vitest";
import { formatBytes, formatMoney } from "../../../src/core/text/format-numbers.ts";

it.each([
  [0, "$0.00"],
  [12.3, "$12.30"],
  [1204, "$1,204.00"],
  [0.0123, "$0.01"],
  [0.00123, "$0.0012"],
  [1.2e-6, "$0.0000012"],
  [1e-7, "less than $0.000001"],
  [-2.5, "-$2.50"],
])("prints %d as %s", (amount, text) => {
  expect(formatMoney(amount)).toBe(text);
});

it("never has an exponent, and is the amount within half a cent or 5 %", () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (amount) => {
      const text = formatMoney(amount, "");
      expect(text).toMatch(/^[\d,]+\.\d{2,}$/);
      expect(Math.abs(Number(text.replaceAll(",", "")) - amount)).toBeLessThanOrEqual(
        Math.max(amount < 0.01 ? 0 : 0.005001, 0.0501 * Math.min(amount, 0.01)),
      );
    }),
  );
});

it.each([
  [0, "0 kB"],
  [2_560, "2.56 kB"],
  [24.94e6, "24.9 MB"],
  [4.2149e9, "4.21 GB"],
  [424e9, "424 GB"],
  [1.234e12, "1,230 GB"],
])("prints %d bytes as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
