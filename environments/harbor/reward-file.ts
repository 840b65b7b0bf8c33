import type { Json } from "../../src/contract/json.ts";
import { type Reward, scored } from "../../src/contract/reward.ts";

/** The greatest size of a reward file that is read. */
export const maxRewardBytes = 65_536;

/** A reward file of the verifier: its content, or undefined if there is none. */
export type RewardFile = Buffer | "too-large" | undefined;

/**
 * Returns the reward that the verifier's files state. `reward.json` comes first: a number, or numbers by name (also as
 * texts), of which `reward` (or the only one) is the reward and all are components. `reward.txt` has one number. A
 * missing, unreadable or too large file and a number that is not finite earn the lowest reward: what the agent left
 * made the tests end without a verdict. Rewards are cut to the range.
 */
export function readReward(
  files: { readonly json: RewardFile; readonly text: RewardFile },
  range: readonly [minimum: number, maximum: number],
): Reward {
  const verdict = files.json === undefined ? fromText(files.text) : fromJson(files.json);
  if (typeof verdict === "string") return failedReward(verdict, range);
  const [value, components] = verdict;
  return scored(Math.min(Math.max(value, range[0]), range[1]), components);
}

/** The lowest reward, with the reason. */
export function failedReward(reason: string, [minimum]: readonly [minimum: number, maximum: number]): Reward {
  return { ...scored(minimum), failure: { name: "VerifierFailure", code: "environment.failed", message: reason } };
}

type Verdict = readonly [value: number, components: Readonly<Record<string, number>>] | string;

function fromText(file: RewardFile): Verdict {
  if (file === undefined) return "The tests wrote no reward file.";
  if (file === "too-large") return `reward.txt has more than ${maxRewardBytes} bytes.`;
  const value = numberIn(withoutMark(file));
  return Number.isFinite(value) ? [value, { reward: value }] : "reward.txt has no finite number.";
}

/** A decimal number as Python's `float` reads it: with underscores between digits, and not in hexadecimal. */
const floatText = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;

/** Returns NaN if the text is not one number. White space around it, such as a CRLF, does not count. */
function numberIn(text: string): number {
  const number = text.trim();
  return floatText.test(number) ? Number(number.replaceAll("_", "")) : Number.NaN;
}

/** Returns the text of a file without the byte order mark that Windows programs write. */
function withoutMark(file: Buffer): string {
  return file.toString().replace(/^\uFEFF/, "");
}

function fromJson(file: Buffer | "too-large"): Verdict {
  if (file === "too-large") return `reward.json has more than ${maxRewardBytes} bytes.`;
  let content: Json;
  try {
    content = JSON.parse(withoutMark(file)) as Json;
  } catch {
    return "reward.json is no JSON.";
  }
  const named = typeof content === "object" && content !== null ? content : { reward: content };
  const components: [string, number][] = [];
  for (const [name, value] of Object.entries(named)) {
    const number = typeof value === "string" ? numberIn(value) : typeof value === "boolean" ? Number(value) : value;
    if (typeof number !== "number" || !Number.isFinite(number))
      return "reward.json has a value that is no finite number.";
    components.push([name, number]);
  }
  const reward = components.length === 1 ? components[0]![1] : components.find(([name]) => name === "reward")?.[1];
  if (reward === undefined) return "reward.json names no reward.";
  return [reward, Object.fromEntries(components)];
}
