import type { Completion } from "../../../../src/core/policy/completion.ts";
import { blockTokens, type KeptBlock, type KeptPrefixes } from "./kept-prefixes.ts";

/** A prompt to read: the completions that continue it, and the blocks of its beginning that are kept. */
export interface PromptToRead {
  readonly ids: readonly number[];
  /** At least one. */
  readonly completions: readonly Completion[];
  readonly kept: readonly KeptBlock[];
}

/** The length of a common beginning from which a prompt waits until another one has read it. */
const longBeginning = 64;

/** Returns the number of a prompt's tokens that must be read. */
export function unreadTokens({ ids, kept }: PromptToRead): number {
  return ids.length - kept.length * blockTokens;
}

/**
 * Chooses the prompts that are read next, at least one: as many as fit, each distinct one once. All of them continue
 * kept blocks, or none does. If prompts have a long common beginning, the first of them reads it, and the others
 * continue it later.
 */
export function chooseReads(
  groups: readonly (readonly Completion[])[],
  { kept, maxTokens }: { readonly kept: KeptPrefixes | undefined; readonly maxTokens: number },
): { readonly read: readonly PromptToRead[]; readonly later: readonly (readonly Completion[])[] } {
  const read: PromptToRead[] = [];
  const later: (readonly Completion[])[] = [];
  let longest = 0;
  for (const [place, completions] of groups.entries()) {
    const ids = completions[0]!.request.promptIds;
    const prompt = { ids, completions, kept: kept?.find(ids) ?? [] };
    const isAlike = read.every((other) => other.kept.length > 0 === prompt.kept.length > 0);
    if (!isAlike || (kept !== undefined && read.some((other) => readsBeginning(kept, other, prompt)))) {
      later.push(completions);
      continue;
    }
    longest = Math.max(longest, unreadTokens(prompt));
    if (read.length > 0 && longest * (read.length + 1) > maxTokens) {
      later.push(...groups.slice(place));
      break;
    }
    read.push(prompt);
  }
  return { read, later };
}

/** Returns completions by prompt. Those of a prompt are read once. */
export function byPrompt(completions: readonly Completion[]): Completion[][] {
  const promptOf = ({ request }: Completion): string => `${request.settings.temperature}:${request.promptIds.join()}`;
  return [...Map.groupBy(completions, promptOf).values()];
}

/**
 * Puts the prompts first that share most with what is kept. If memory is short, what the last prompts need is dropped
 * first.
 */
export function keptFirst<Group extends readonly Completion[]>(groups: readonly Group[], kept: KeptPrefixes): Group[] {
  const find = (group: Group): number => kept.find(group[0]!.request.promptIds).length;
  const blocks = new Map(groups.map((group) => [group, find(group)]));
  const ordered = groups.toSorted((first, second) => blocks.get(second)! - blocks.get(first)!);
  for (const group of ordered.toReversed()) find(group);
  return ordered;
}

/** True if reading `other` will keep many tokens that `prompt` would have to read too. */
function readsBeginning(kept: KeptPrefixes, other: PromptToRead, prompt: PromptToRead): boolean {
  const most = Math.min(other.ids.length, prompt.ids.length - 1);
  let common = 0;
  while (common < most && other.ids[common] === prompt.ids[common]) common++;
  const whole = common - (common % blockTokens);
  return whole - prompt.kept.length * blockTokens >= longBeginning && kept.canKeep(whole);
}
