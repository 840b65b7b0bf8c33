import type { Json } from "../../src/contract/json.ts";
import type { ConvertedKeys } from "./convert-keys.ts";
import type { RemovedKey } from "./old-key.ts";

/** The keys that servers of the Tinker API refuse, with the reason and a value that they accept. */
const refused: readonly (readonly [key: string, reason: string, accepted?: Json])[] = [
  ["sampling.temperature", "a server computes log-probabilities at temperature 1 only", 1],
  ["sampling.topP", "a server computes log-probabilities of the whole distribution only", 1],
  ["sampling.topK", "a server computes log-probabilities of the whole distribution only"],
  ["algorithm.entropyWeight", "the Tinker API has no entropy bonus", 0],
  ["model.adapter.alpha", "the Tinker API has no alpha: servers use 32", 32],
  ["model.adapter.targets", "a server puts adapters on all linear layers"],
  ["model.adapter.dropout", "the Tinker API has no dropout", 0],
  ["model.precision", "the server has its own precision"],
  ["model.device", "the server has its own devices"],
  ["model.deviceIndex", "the server has its own devices"],
];

/**
 * Removes what a server of the Tinker API refuses from a converted config that trains on one. Returns the remaining
 * values and the lost keys. Defaults of the old program are removed silently.
 */
export function withRemoteSettings({
  set,
  origins,
  lost,
}: Pick<ConvertedKeys, "set" | "origins" | "lost">): Pick<ConvertedKeys, "set" | "lost"> {
  if (set.get("backend.type") !== "tinker") return { set, lost };
  const kept = new Map(set);
  const removed: RemovedKey[] = [];
  for (const [key, reason, accepted] of refused) {
    const value = set.get(key);
    if (value === undefined || value === accepted) continue;
    kept.delete(key);
    const { from = [], value: given = value } = origins.get(key) ?? {};
    const names = from.filter((name) => !name.startsWith("the default"));
    if (names.length > 0) removed.push({ key: names.join(", "), value: given, reason });
  }
  return { set: kept, lost: [...lost, ...removed] };
}
