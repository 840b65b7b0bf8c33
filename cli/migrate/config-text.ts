import { type Document, isMap, isScalar, isSeq, type Pair, visit, Document as YamlDocument } from "yaml";
import { type ConvertedConfig, nestedConfig } from "./convert-config.ts";
import { systemNames } from "./old-config.ts";
import type { RemovedKey } from "./old-key.ts";

/** The sections in the order of the documentation. */
const order = [
  "seed",
  "output",
  "environment",
  "environments",
  "algorithm",
  "model",
  "backend",
  "agents",
  "rewards",
  "tasks",
  "sampling",
  "rollout",
  "training",
  "evaluation",
  "checkpoint",
  "export",
  "trackers",
];

/**
 * Returns a converted config as YAML. Comments give its source, the lost keys with the reasons, and the old key of each
 * new key.
 */
export function configText(
  converted: ConvertedConfig,
  options: { readonly from: string; readonly to: string },
): string {
  const { set, origins, lost, idle, served, system } = converted;
  const config = nestedConfig(set);
  const sorted = Object.fromEntries(
    Object.entries(config).toSorted(([first], [second]) => order.indexOf(first) - order.indexOf(second)),
  );
  const document = new YamlDocument(sorted, { aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_, list) => {
      list.flow = list.items.every((item) => isScalar(item));
    },
  });
  for (const [key, { from, notes }] of origins) {
    const pair = pairAt(document, key.split("."));
    if (pair === undefined) continue;
    if (isScalar(pair.value) || (isSeq(pair.value) && pair.value.flow === true))
      pair.value.comment = ` ${from.join(", ")}`;
    else if (isScalar(pair.key)) pair.key.commentBefore = commentLines([from.join(", ")]);
    if (notes.length > 0 && isScalar(pair.key)) {
      pair.key.commentBefore = [pair.key.commentBefore, commentLines(notes)].filter(Boolean).join("\n");
    }
  }
  for (const item of isMap(document.contents) ? document.contents.items.slice(1) : []) {
    if (isScalar(item.key)) item.key.spaceBefore = true;
  }
  const header = commentLines([
    `${options.from}, a config of ${systemNames[system]}, converted by lyceum migrate.`,
    "",
    `  ${trainCommandLine(options.to, converted)}`,
    ...otherCommands(converted).flatMap(([sentence, ...commands]) => ["", sentence, "", ...commands.map(indented)]),
    ...(lost.length === 0 ? [] : ["", "Without a counterpart:", ...lostLines(lost)]),
    ...(served.length === 0 ? [] : ["", `These keys are in the commands: ${served.join(", ")}.`]),
    ...(idle.length === 0 ? [] : ["", `Without effect: ${idle.join(", ")}.`]),
  ]);
  const body = document.toString({ lineWidth: 0, flowCollectionPadding: false, nullStr: "null" });
  return `${header.replaceAll(/^/gm, "#")}\n${body.trimEnd()}\n`;
}

/** Returns the command that trains with a converted config. */
export function trainCommandLine(path: string, { trainPrefix }: Pick<ConvertedConfig, "trainPrefix">): string {
  return `${trainPrefix}lyceum train --config ${path}`;
}

/**
 * Returns the commands that a config needs besides `lyceum train`, each after a sentence: to install PyTorch, to start
 * its other nodes, or to start a SkyRL server.
 */
export function otherCommands(converted: Pick<ConvertedConfig, "set" | "commands">): readonly [string, ...string[]][] {
  const { set, commands } = converted;
  if (set.get("backend.type") === "torch") {
    const nodes = Number(set.get("backend.nodes") ?? 1);
    const others = nodes === 2 ? "On the other machine" : `On each other machine, with --node 1 to ${nodes - 1}`;
    return [
      ["Once, install PyTorch, on each machine (docs/gpu.md):", "lyceum setup torch"],
      ...(commands.length === 0
        ? []
        : [[`${others}, which follows the first until the run ends:`, ...commands] as const]),
    ].map(([sentence, ...lines]) => [sentence!, ...lines]);
  }
  if (commands.length === 0) return [];
  const when = set.has("backend.type") ? "First start" : "If you change the algorithm and add backend, first start";
  const where = commands.length === 1 ? "" : " (the first command on the head node, the second on each other node)";
  return [[`${when} SkyRL 0.3.0 as docs/clusters.md describes${where}:`, ...commands]];
}

function indented(line: string): string {
  return `  ${line}`;
}

/** Returns the old keys without a counterpart and their values, one line per reason. */
export function lostLines(lost: readonly RemovedKey[]): string[] {
  const byReason = Map.groupBy(lost, ({ reason }) => reason);
  return [...byReason].map(([reason, keys]) => `- ${keys.map(keyText).join(", ")} (${reason})`);
}

function keyText({ key, value }: RemovedKey): string {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return visibleKey(`${key}${text.length > 40 ? "" : `: ${text}`}`);
}

/** Escapes characters that have an effect in a terminal. */
function visibleKey(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}]/gu,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  );
}

function pairAt(document: Document, path: readonly string[]): Pair | undefined {
  let node: unknown = document.contents;
  let found: Pair | undefined;
  for (const name of path) {
    found = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
    node = found?.value;
  }
  return found;
}

/** Returns comment lines of at most 118 characters. */
function commentLines(lines: readonly string[]): string {
  const filled = lines.flatMap((line) => (line === "" || line.startsWith(" ") ? [line] : wrapped(line)));
  return filled.map((line) => ` ${line}`.trimEnd()).join("\n");
}

function wrapped(line: string): string[] {
  const indent = line.startsWith("- ") ? "  " : "";
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    const longer = current === "" ? word : `${current} ${word}`;
    if (longer.length <= 116 || current === "") current = longer;
    else {
      lines.push(current);
      current = `${indent}${word}`;
    }
  }
  return [...lines, current];
}
