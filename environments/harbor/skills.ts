import { parse } from "yaml";
import type { Workspace } from "../../sandbox/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";

/** Prints the head of each `SKILL.md`, after its path. A NUL byte ends each part. */
const list =
  'for f in "$1"/*/SKILL.md; do if [ -f "$f" ]; then printf "%s\\0" "$f"; head -c 2000 -- "$f"; printf "\\0"; fi; done';

/**
 * Returns a text that tells an agent which skills a container has: a path for each, with the name and the description
 * of its front matter. Returns undefined if there are none.
 */
export async function listSkills(
  workspace: Workspace,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const command = ["/bin/bash", "-c", list, "bash", folder];
  const { output } = await workspace.run({ command, limitMs: 30_000, user: "0", signal });
  const parts = output.split("\0");
  const lines: string[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) lines.push(`- ${parts[i]}${described(parts[i + 1]!)}`);
  if (lines.length === 0) return undefined;
  return `These files describe skills. Read the ones that fit the task:\n${lines.join("\n")}`;
}

function described(text: string): string {
  const [, frontMatter] = /^---\r?\n(.*?)\r?\n---/s.exec(text) ?? [];
  let fields: Json | undefined;
  try {
    fields = frontMatter === undefined ? undefined : (parse(frontMatter) as Json);
  } catch {
    // The path alone is enough to read the file.
  }
  if (!isJsonObject(fields)) return "";
  const { name, description } = fields;
  const known = [name, description].filter((value) => typeof value === "string");
  return known.length === 0 ? "" : ` (${known.join(": ")})`;
}
