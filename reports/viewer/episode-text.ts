import type { Episode } from "../../src/contract/episode.ts";
import type { Json } from "../../src/contract/json.ts";
import { textOf } from "../../src/contract/message.ts";

/** Returns the searchable texts of an episode: messages, tool calls, info, reasons and errors, without its tokens. */
function* episodeTexts(episode: Episode): Generator<string, void, undefined> {
  yield episode.task.id;
  for (const { nodes, turns, reward } of Object.values(episode.agents)) {
    const ofCalls = turns.flatMap(({ calls = [] }) => calls.flatMap(({ messages, answer }) => [...messages, answer]));
    for (const message of [...nodes.map((node) => node.message), ...ofCalls]) {
      for (const part of message.content) if (part.type !== "image") yield part.text;
      for (const call of message.toolCalls ?? []) {
        yield call.name;
        yield* textsOf(call.arguments);
      }
    }
    if (reward.status === "unscored") yield reward.reason;
  }
  yield* textsOf((episode.info ?? []) as Json);
  if (episode.error !== undefined) yield episode.error.message;
}

/**
 * Returns the beginning of an agent's last message. By default, of the first agent that wrote one. Empty if there is
 * none.
 */
export function lastWords(episode: Episode, agent?: string): string {
  const speakers = Object.entries(episode.agents).filter(([name]) => agent === undefined || name === agent);
  for (const [, { nodes }] of speakers) {
    const message = nodes.findLast(({ message: { role } }) => role === "assistant")?.message;
    const text = message === undefined ? "" : textOf(message).slice(0, 2_000).replaceAll(/\s+/g, " ").trim();
    if (text !== "") return text.slice(0, 200);
  }
  return "";
}

/** Returns an agent's first user message. By default, that of the first agent that read one. */
export function firstWords(episode: Episode, agent?: string): string {
  const readers = Object.entries(episode.agents).filter(([name]) => agent === undefined || name === agent);
  for (const [, { nodes }] of readers) {
    const given = nodes.filter(({ message: { role } }) => role !== "assistant");
    const message = (given.find(({ message: { role } }) => role === "user") ?? given[0])?.message;
    const text = message === undefined ? "" : textOf(message).slice(0, 8_000).replaceAll(/\s+/g, " ").trim();
    if (text !== "") return text;
  }
  return "";
}

/** A shorter common beginning stays, because it takes little space. */
const shortest = 24;

/** Returns names for prompts: the beginning of each, without the words with which all of them begin. */
export function promptNames(prompts: readonly string[]): string[] {
  const [first = "", ...others] = [...new Set(prompts)].filter((prompt) => prompt !== "").sort();
  const last = others.at(-1) ?? "";
  let shared = 0;
  while (shared < last.length && first[shared] === last[shared]) shared += 1;
  const cut = shared === 0 ? 0 : first.lastIndexOf(" ", shared - 1) + 1;
  return prompts.map((prompt) => (cut < shortest || prompt === "" ? prompt : `… ${prompt.slice(cut)}`).slice(0, 200));
}

/** True if an episode contains a text, in any case. */
export function hasText(episode: Episode, text: string): boolean {
  const wanted = text.toLowerCase();
  for (const candidate of episodeTexts(episode)) if (candidate.toLowerCase().includes(wanted)) return true;
  return false;
}

function* textsOf(value: Json): Generator<string, void, undefined> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number") yield String(value);
  else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) yield* textsOf(part);
}
