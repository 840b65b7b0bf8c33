import {
  displayWidth,
  renderLine,
  type Span,
  span,
  truncateText,
  wrapText,
} from "../reports/training/terminal-text.ts";
import type { ConfigKey } from "../src/core/config/index.ts";
import { visibleLine } from "../src/core/text/visible-text.ts";
import type { Info } from "./info.ts";
import type { NamedInfo } from "./named-info.ts";

interface TextOptions {
  readonly width: number;
  readonly color: boolean;
}

/** Returns the output of `lyceum info` as text that fits one screen. */
export function infoText(info: Info, options: TextOptions): string {
  const { processor, onnxruntime } = info;
  const gibibytes = (processor.memoryBytes / 2 ** 30).toFixed(1);
  const lines: Span[][] = [
    ["Lyceum", `${info.lyceum}, Node ${info.node} (${info.platform})`],
    ["Processor", `${processor.model}, ${processor.threads} threads, ${gibibytes} GiB memory`],
    ["ONNX Runtime", "error" in onnxruntime ? onnxruntime.error : onnxruntime.version],
    ...("error" in onnxruntime && onnxruntime.hint !== undefined ? [["", onnxruntime.hint]] : []),
  ].flatMap(([label, value]) => labelled(label!, visibleLine(value!), options.width));
  for (const [index, { name, works, reason }] of info.devices.entries()) {
    const label = span((index === 0 ? "Devices" : "").padEnd(labelWidth), "dim");
    const why = truncateText(works ? "works" : `no: ${visibleLine(reason ?? "")}`, options.width - labelWidth - 8);
    lines.push([label, span(name.padEnd(8), works ? "green" : "dim"), works ? span(why) : span(why, "dim")]);
  }
  lines.push(...torchLines(info).flatMap(([label, value]) => labelled(label, visibleLine(value), options.width)));
  lines.push([]);
  const lists: [string, readonly string[]][] = [
    ["Environments", info.environments.map(({ id }) => id)],
    ["Algorithms", info.algorithms.map(({ id }) => id)],
    ["Policies", info.policies.map(({ id }) => id)],
  ];
  for (const [label, names] of lists) lines.push(...labelled(label, visibleLine(names.join(", ")), options.width));
  const more: [string, string][] = [
    ["lyceum info math", "show an environment, an algorithm, a policy, or ./environment.ts"],
    ["lyceum info --keys", "show the keys of a config that belong to none of these"],
  ];
  lines.push([], ...more.map(([command, what]) => [span(command.padEnd(20), "cyan"), span(what, "dim")]));
  return textOf(lines, options);
}

function torchLines({ torch }: Info): [label: string, value: string][] {
  if ("error" in torch)
    return [["PyTorch", torch.error], ...(torch.hint === undefined ? [] : [["", torch.hint] as [string, string]])];
  const cards = torch.cards.map(({ name, bytes }) => `${name} (${(bytes / 2 ** 30).toFixed(0)} GiB)`);
  const built = torch.cuda === null ? "without CUDA" : `CUDA ${torch.cuda}`;
  return [
    ["PyTorch", `${torch.torch} (${built}), transformers ${torch.transformers}, peft ${torch.peft}`],
    ["", `${torch.executable}, Python ${torch.python}`],
    ["Cards", cards.length === 0 ? "none that PyTorch finds" : cards.join(", ")],
  ];
}

/** Returns the output of `lyceum info NAME` as text. */
export function namedInfoText(info: NamedInfo, options: TextOptions): string {
  const lines: Span[][] = [
    [span(info.id, "bold"), span(` (${info.kind})`, "dim")],
    ...wrapText(visibleLine(info.description), options.width).map((line) => [span(line)]),
    [],
    ...(info.keys.length === 0 ? [[span("It has no options.", "dim")]] : keyRows(info.keys, options.width)),
    [],
    [span("Example: ", "dim"), span(info.example)],
  ];
  return textOf(lines, options);
}

/**
 * Returns the output of `lyceum info --keys` as text: the keys of a config that belong to no environment or algorithm.
 */
export function configKeysText({ config }: Pick<Info, "config">, options: TextOptions): string {
  return textOf(keyRows(config, options.width), options);
}

const labelWidth = 14;

function labelled(label: string, value: string, width: number): Span[][] {
  return wrapText(value, Math.max(1, width - labelWidth)).map((line, index) => [
    span((index === 0 ? label : "").padEnd(labelWidth), "dim"),
    span(line),
  ]);
}

function textOf(lines: readonly Span[][], options: TextOptions): string {
  return `${lines.map((line) => renderLine(line, options).trimEnd()).join("\n")}\n`;
}

/** Returns a row per key: name, default, description. On a narrow terminal the description is below. */
function keyRows(given: readonly ConfigKey[], width: number, indent = 2): Span[][] {
  const keys = given.map((key) => ({ ...key, key: visibleLine(key.key) }));
  const nameWidth = Math.max(0, ...keys.map(({ key }) => displayWidth(key)));
  const values = keys.map(defaultText);
  const valueWidth = Math.min(18, Math.max(0, ...values.map(displayWidth)));
  const left = indent + nameWidth + valueWidth + 4;
  const isWide = width - left >= 30;
  return keys.flatMap((key, index): Span[][] => {
    // The default already shows the type of a switch.
    const type = key.type === "true | false" ? undefined : `(${key.type})`;
    const about = visibleLine([key.description, type].filter((part) => part !== undefined).join(" "));
    const head = [
      span(" ".repeat(indent) + key.key.padEnd(nameWidth + 2)),
      span(values[index]!.padEnd(valueWidth + 2), key.required ? "yellow" : "green"),
    ];
    const lines = wrapText(about, Math.max(1, isWide ? width - left : width - indent - 4));
    if (!isWide || displayWidth(values[index]!) > valueWidth) {
      return [head, ...lines.map((line) => [span(" ".repeat(isWide ? left : indent + 4)), span(line, "dim")])];
    }
    return lines.map((line, row) => [...(row === 0 ? head : [span(" ".repeat(left))]), span(line, "dim")]);
  });
}

function defaultText(key: ConfigKey): string {
  if (key.required) return "required";
  if (key.default === undefined) return "–";
  return visibleLine(typeof key.default === "string" ? key.default : JSON.stringify(key.default));
}
