import { readFile } from "node:fs/promises";
import { openCatalog } from "../cli/catalog.ts";
import { runConfigSchema } from "../cli/run-config.ts";
import { type ConfigKey, configReference } from "../src/core/config/index.ts";
import { migrationPage } from "./migration-page.ts";
import { resultPages } from "./results/page.ts";

/** Returns the documents that are generated from the sources: Markdown by path from the repository's root. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    "docs/configuration.md": await configurationPage(),
    "docs/errors.md": await errorsPage(),
    ...(await resultPages()),
    "docs/migrate.md": lines(["# Come from MRLM, CoMLRL or LLM_Collab", "", generated, "", ...migrationPage()]),
  };
}

const generated = "<!-- Written by `npm run docs`: change the sources, not this file. -->";

async function configurationPage(): Promise<string> {
  const { environments, algorithms } = await openCatalog();
  const keys = configReference(runConfigSchema({ environments: environments.list(), algorithms }));
  const sections = [...new Set(keys.map(({ key }) => sectionOf(key)))];
  return lines([
    "# Configuration",
    "",
    generated,
    "",
    "Every key of a config for `lyceum train`. A key that does not exist is an error that names the nearest one.",
    "`--set key=value` changes any key from the command line, with the value in YAML:",
    "`--set training.steps=50 --set 'sampling.stop=[\"###\"]'`.",
    "`lyceum info --keys` shows the same, and `lyceum info NAME` the keys of an environment or algorithm.",
    ...sections.flatMap((section) => sectionText(section, keys)),
  ]);
}

/** Returns the section of a key. Keys without a dot belong to no section. */
function sectionOf(key: string): string {
  return key.includes(".") ? key.slice(0, key.indexOf(".")) : "";
}

function sectionText(section: string, keys: readonly ConfigKey[]): string[] {
  const own = keys.filter(({ key }) => sectionOf(key) === section);
  const always = own.filter(({ when }) => when === undefined);
  const shared = sharedKeys(own);
  const isShared = new Set(shared.flat());
  const left = own.filter((key) => key.when !== undefined && !isShared.has(key));
  const cases = [...new Set(left.map(caseOf))];
  return [
    "",
    `## ${section === "" ? "The run" : section}`,
    "",
    ...table(always),
    ...(shared.length === 0 ? [] : ["", "### In several of them", "", ...sharedTable(shared)]),
    ...cases.flatMap((name) => ["", `### \`${name}\``, "", ...table(left.filter((key) => caseOf(key) === name))]),
  ];
}

/** Returns the case of a key, such as `algorithm.id: grpo`. */
function caseOf({ when }: ConfigKey): string {
  return `${when?.key}: ${when?.value}`;
}

/** Returns keys with the same meaning in at least three cases, each as the list of its occurrences. */
function sharedKeys(keys: readonly ConfigKey[]): ConfigKey[][] {
  const byMeaning = new Map<string, ConfigKey[]>();
  for (const key of keys) {
    if (key.when === undefined) continue;
    const meaning = JSON.stringify([key.key, key.type, key.description, key.when.key]);
    byMeaning.set(meaning, [...(byMeaning.get(meaning) ?? []), key]);
  }
  return [...byMeaning.values()].filter((occurrences) => occurrences.length >= 3);
}

function sharedTable(shared: readonly (readonly ConfigKey[])[]): string[] {
  const rows = shared.map((occurrences) => {
    const [first] = occurrences as [ConfigKey];
    const where = occurrences.map(({ when }) => when!.value).join(", ");
    return `| \`${first.key}\` | ${cell(first.type)} | ${cell(defaults(occurrences))} | ${cell(first.description ?? "")} | ${where} |`;
  });
  return ["| key | value | default | | in |", "|---|---|---|---|---|", ...rows];
}

/** Returns the only default, or the most frequent one and those that differ from it. */
function defaults(occurrences: readonly ConfigKey[]): string {
  const byText = new Map<string, string[]>();
  for (const key of occurrences) {
    const text = defaultText(key);
    byText.set(text, [...(byText.get(text) ?? []), String(key.when!.value)]);
  }
  const [usual = "", ...others] = [...byText.keys()].sort((a, b) => byText.get(b)!.length - byText.get(a)!.length);
  const exceptions = others.map((text) => `${text === "" ? "none" : text} in ${byText.get(text)!.join(", ")}`);
  return [usual, ...exceptions].join("; ");
}

function defaultText(key: ConfigKey): string {
  return key.required ? "required" : key.default === undefined ? "" : `\`${valueText(key)}\``;
}

function table(keys: readonly ConfigKey[]): string[] {
  const rows = keys.map((key) => {
    return `| \`${key.key}\` | ${cell(key.type)} | ${cell(defaultText(key))} | ${cell(key.description ?? "")} |`;
  });
  return ["| key | value | default | |", "|---|---|---|---|", ...rows];
}

function valueText({ default: value }: ConfigKey): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Escapes a text for a table cell. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

async function errorsPage(): Promise<string> {
  const source = await readFile(new URL("../src/contract/errors/lyceum-error.ts", import.meta.url), "utf8");
  const rows = [...source.matchAll(/\/\*\* (.+) \*\/\n {2}\| "([\w.-]+)"/g)].map(
    ([, description, code]) => `| \`${code}\` | ${cell(description!)} |`,
  );
  return lines([
    "# Errors",
    "",
    generated,
    "",
    "Lyceum throws a `LyceumError`: a `code` from this table, a message that describes the problem, a `hint` that says what",
    "to do next, and `data` for programs. Distinguish errors by their code. `LyceumError.isInstance(error)` also works if the",
    "package is installed twice. A failure within an episode is not thrown. It is in the episode, as `episode.error` or an",
    "unscored reward.",
    "",
    "`lyceum` exits with code 2 for errors of the command line or the config (`config.*` and `data.not-found`), with 130",
    "when it is interrupted (`aborted`), and with 1 for every other error.",
    "",
    "| code | |",
    "|---|---|",
    ...rows,
  ]);
}

function lines(parts: readonly string[]): string {
  return `${parts.join("\n")}\n`;
}
