/** A value and its unit. */
export interface MeasuredValue {
  readonly value: string;
  /** The normalized unit. Absent if none is written. */
  readonly unit?: string;
  readonly percent: boolean;
}

const spellings: Readonly<Record<string, string>> = {
  centimeter: "cm",
  centimetre: "cm",
  meter: "m",
  metre: "m",
  kilometer: "km",
  kilometre: "km",
  millimeter: "mm",
  millimetre: "mm",
  inche: "in",
  inch: "in",
  foot: "ft",
  feet: "ft",
  gram: "g",
  kilogram: "kg",
  hour: "h",
  hr: "h",
  minute: "min",
  second: "s",
  sec: "s",
  degree: "degree",
  liter: "l",
  litre: "l",
};
const plainUnits =
  "[ckm]?m ?/ ?s|km ?/ ?h|cm|mm|km|kg|mg|ml|mi|ft|yd|lb|oz|hr|min|mph|inch(?:es)?|f(?:oo|ee)t|miles?|yards?|(?:centi|milli|kilo)?met(?:er|re)s?|(?:kilo)?grams?|hours?|minutes?|seconds?|days?|weeks?|months?|years?|degrees?|dollars?|cents?|euros?|pounds?|units?|square units?|[ap]m|people|apples?|ways?|times|points?|lit(?:er|re)s?";
const power = String.raw`(?:\s*\^\s*(?:\{\s*-?[123]\s*\}|[23]))?`;
const wordUnit = String.raw`\\text\s*\{[^{}]*\}\.?${power}`;
const trailing = new RegExp(
  String.raw`(?<=[\d})\]]|\\pi)\s*(\\frac\s*\{\s*${wordUnit}\s*\}\s*\{\s*${wordUnit}\s*\}|${wordUnit}(?:\s*(?:\/|\\cdot)?\s*${wordUnit})*|(?:square |cubic |sq )?(?:${plainUnits})(?:\s*/\s*[a-z]+| per [a-z]+)?\.?${power})$`,
  "i",
);

/** Splits a unit, a degree sign and a percent sign from the end of a value in normal LaTeX. */
export function splitUnit(latex: string): MeasuredValue {
  const text = latex.trim();
  const percent = /\s*(?:\\%|%|\\text\s*\{\s*(?:percent|%)\s*\}|\bpercent)$/.exec(text);
  if (percent !== null) return { value: text.slice(0, percent.index).trim(), percent: true };
  const degrees = /\s*(?:\{\s*\})?\^\s*(?:\\circ|\{\s*\\circ\s*\})\s*(?:\\text\s*\{\s*([CF])\s*\}|([CF]))?$/.exec(text);
  if (degrees !== null && !/\\(?:sin|cos|tan|cot|sec|csc)/.test(text))
    return {
      value: text.slice(0, degrees.index).trim(),
      unit: ["degree", ...degrees.slice(1).filter(Boolean)].join(" "),
      percent: false,
    };
  const match = trailing.exec(text);
  if (match === null) return { value: text, percent: false };
  const unit = unitName(match[1]!.toLowerCase());
  const value = text.slice(0, match.index).trim();
  return unit === "" || unit === "unit" ? { value, percent: false } : { value, unit, percent: false };
}

/** Normalizes a unit: `cm^2` for `\text{ square centimeters}`, `m/s^2` for `\text{m}/\text{s}^{2}`. */
function unitName(written: string): string {
  const words = written
    .replace(/\\frac\s*\{(.*)\}\s*\{(\\text.*)\}$/, "$1/$2")
    .replace(/\\text\s*\{\s*([^{}]*?)\s*\}/g, "$1")
    .replace(/\s*\\cdot\s*/g, " ")
    .replace(/\s*\^\s*\{?\s*(-?\d)\s*\}?/g, "^$1")
    .replace(/^\s*\((.*)\)\s*$/, "$1")
    .replace(/\s*\/\s*/g, "/")
    .trim();
  const power = /^(?:square|sq)\.? /.test(words) ? "^2" : /^cubic /.test(words) ? "^3" : "";
  const bare = words.replace(/^(?:square|sq|cubic)\.? /, "").replace(/\.$/, "");
  const [name, ...rest] = bare.split("^");
  const trimmed = name!.replace(/\.$/, "").trim();
  const single = trimmed.length > 2 ? trimmed.replace(/s$/, "") : trimmed;
  return [(spellings[single] ?? single) + power, ...rest].join("^");
}
