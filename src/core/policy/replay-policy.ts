import type { AgentEpisode, AgentTurn, Episode } from "../../contract/episode.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { PartType } from "../../contract/message.ts";
import type { ActRequest, ActResult, ActTokens, Policy } from "../../contract/policy.ts";
import { turnSeed } from "../rollout/episode-seeds.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { replayedCalls, replayedCompletion } from "./replayed-calls.ts";

/** A recorded turn, with the conversation that contains it. */
interface RecordedTurn {
  readonly record: AgentEpisode;
  readonly turn: AgentTurn;
}

/**
 * Creates a policy that repeats the actions of recorded episodes, such as those of `readTrace(path)`. It finds them by
 * task, seed, sample index, agent and turn, and returns the recorded tokens, log-probabilities and usage, but no
 * latencies. Rejects with `policy.failed` for an action that was not recorded. It keeps the episodes in memory. If an
 * episode was recorded twice, for example after a retry, the later record is used.
 */
export async function replayPolicy(
  episodes: AsyncIterable<Episode> | Iterable<Episode>,
  options: { readonly name?: string; readonly accepts?: readonly PartType[] } = {},
): Promise<Policy> {
  const turns = new Map<string, RecordedTurn>();
  const tasks = new Set<string>();
  for await (const { task, seed, sampleIndex, agents } of episodes) {
    tasks.add(task.hash);
    for (const [agent, record] of Object.entries(agents)) {
      for (const turn of record.turns) {
        const own = turnSeed({ seed, hash: task.hash, sampleIndex, agent, turn: turn.turn });
        turns.set(keyOf(agent, own), { record, turn });
      }
    }
  }
  return {
    specificationVersion: "v1",
    name: options.name ?? "replay",
    accepts: options.accepts ?? ["text", "reasoning", "image"],
    act: async (request) => {
      request.signal?.throwIfAborted();
      const recorded = turns.get(keyOf(request.agent, request.seed));
      if (recorded === undefined) throw unrecorded(request, tasks);
      return replayed(recorded, request);
    },
  };
}

/** The seed of a request is derived from the rollout's seed, the task, the sample index, the agent and the turn. */
function keyOf(agent: string, requestSeed: number): string {
  return `${requestSeed} ${agent}`;
}

function replayed({ record, turn }: RecordedTurn, request: ActRequest): ActResult {
  const { finish, parseErrors, usage, logprobs } = turn;
  const { message } = record.nodes[turn.node]!;
  const tokens = replayedTokens({ record, turn }, request);
  const calls = turn.calls && replayedCalls(turn.calls);
  return withoutUndefined({
    action: withoutUndefined({ message, finish, parseErrors }),
    tokens,
    calls,
    usage,
    logprobs,
  });
}

/**
 * Returns the recorded tokens. The tokens of an observation are on the node before the action: the whole prompt, or the
 * part that it adds to `previous`.
 */
function replayedTokens({ record, turn }: RecordedTurn, { previous }: ActRequest): ActTokens | undefined {
  const node = record.nodes[turn.node]!;
  const prompt = node.parent === null ? undefined : record.nodes[node.parent]!.tokens;
  if (node.tokens === undefined || prompt === undefined) return undefined;
  const { ids: newPromptIds, startsSequence } = prompt;
  if (!startsSequence && previous === undefined) return undefined;
  const promptLength = newPromptIds.length + (startsSequence ? 0 : previous!.ids.length);
  return { extendsPrevious: !startsSequence, newPromptIds, promptLength, ...replayedCompletion(node.tokens) };
}

function unrecorded({ agent, seed, episode }: ActRequest, tasks: ReadonlySet<string>): LyceumError {
  const { task, sampleIndex, turn } = episode ?? {};
  const place = episode === undefined ? "" : ` in turn ${turn} of task "${task?.id}" (sample ${sampleIndex})`;
  const known = task !== undefined && tasks.has(task.hash);
  return new LyceumError({
    code: "policy.failed",
    message: `The recording has no action of agent "${agent}"${place}.`,
    hint: known
      ? "Use the same environment, the seed of the recording and at most its group size. A recording ends if the episode failed, and has no actions for an episode that takes another course."
      : "Use the recorded tasks.",
    data: {
      agent,
      seed,
      ...(episode === undefined ? {} : { task: episode.task.id, sampleIndex: episode.sampleIndex, turn: episode.turn }),
    },
  });
}
