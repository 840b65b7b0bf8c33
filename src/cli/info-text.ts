import type { ConfigKey } from "../config/index.ts";
import { displayWidth, renderLine, type Span, span, wrapText } from "../report/terminal-text.ts";
import { visibleLine } from "../report/visible-text.ts";
import type { Info, NamedReference } from "./info.ts";

interface TextOptions {
  readonly width: number;
  readonly color: boolean;
}

/** `lyceum info` for a person. `keys` adds every key of a config that belongs to no environment or algorithm. */
export function infoText(info: Info, options: TextOptions & { readonly keys: boolean }): string {
  const { processor, onnxruntime } = info;
  const gibibytes = (processor.memoryBytes / 2 ** 30).toFixed(1);
  const facts: [string, string][] = [
    ["Lyceum", info.lyceum],
    ["Node", `${info.node} (${info.platform})`],
    ["Processor", `${processor.model}, ${processor.threads} threads, ${gibibytes} GiB memory`],
    ["ONNX Runtime", "error" in onnxruntime ? `does not load: ${onnxruntime.error}` : onnxruntime.version],
  ];
  if (!("error" in onnxruntime)) {
    const names = (bundled: boolean): string =>
      onnxruntime.providers.flatMap((provider) => (provider.bundled === bundled ? [provider.name] : [])).join(", ");
    facts.push(["Providers", names(true)]);
    if (names(false) !== "") facts.push(["", `${names(false)} (once their libraries are installed)`]);
  }
  const lines: Span[][] = facts.map(([label, value]) => [span(label.padEnd(14), "dim"), span(value)]);
  for (const [index, { name, works, reason }] of info.devices.entries()) {
    const label = span((index === 0 ? "Devices" : "").padEnd(14), "dim");
    const why = wrapText(works ? "works" : `no: ${visibleLine(reason ?? "")}`, Math.max(1, options.width - 22), 2);
    for (const [row, text] of why.entries()) {
      const head = row === 0 ? [label, span(name.padEnd(8), works ? "green" : "dim")] : [span(" ".repeat(22))];
      lines.push([...head, works ? span(text) : span(text, "dim")]);
    }
  }
  lines.push(...section("Environments", info.environments, options.width));
  lines.push(...section("Algorithms", info.algorithms, options.width));
  if (options.keys) lines.push([], [span("Config", "bold")], ...keyRows(info.config, options.width));
  else lines.push([], [span("Every other key of a config: lyceum info --keys", "dim")]);
  return `${lines.map((line) => renderLine(line, options).trimEnd()).join("\n")}\n`;
}

function section(title: string, entries: readonly NamedReference[], width: number): Span[][] {
  const left = Math.max(14, ...entries.map(({ id }) => id.length + 4));
  return [
    [],
    [span(title, "bold")],
    ...entries.flatMap(({ id, description, keys }) => [
      ...wrapText(description, Math.max(1, width - left)).map((line, index) => [
        span((index === 0 ? `  ${id}` : "").padEnd(left), "cyan"),
        span(line),
      ]),
      ...keyRows(keys, width, 4),
    ]),
  ];
}

/** A row per key: name, default, what it is. Descriptions go below where the line is too narrow for them. */
function keyRows(keys: readonly ConfigKey[], width: number, indent = 2): Span[][] {
  const nameWidth = Math.max(0, ...keys.map(({ key }) => displayWidth(key)));
  const values = keys.map(defaultText);
  const valueWidth = Math.min(18, Math.max(0, ...values.map(displayWidth)));
  const left = indent + nameWidth + valueWidth + 4;
  const beside = width - left >= 30;
  return keys.flatMap((key, index): Span[][] => {
    // The default shows the type of a switch.
    const type = key.type === "true | false" ? undefined : `(${key.type})`;
    const about = [key.description, type].filter((part) => part !== undefined).join(" ");
    const head = [
      span(" ".repeat(indent) + key.key.padEnd(nameWidth + 2)),
      span(values[index]!.padEnd(valueWidth + 2), key.required ? "yellow" : "green"),
    ];
    const lines = wrapText(about, Math.max(1, beside ? width - left : width - indent - 4));
    if (!beside || displayWidth(values[index]!) > valueWidth) {
      return [head, ...lines.map((line) => [span(" ".repeat(beside ? left : indent + 4)), span(line, "dim")])];
    }
    return lines.map((line, row) => [...(row === 0 ? head : [span(" ".repeat(left))]), span(line, "dim")]);
  });
}

function defaultText(key: ConfigKey): string {
  if (key.required) return "required";
  return key.default === undefined ? "–" : typeof key.default === "string" ? key.default : JSON.stringify(key.default);
}
