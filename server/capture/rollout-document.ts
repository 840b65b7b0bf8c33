import type { SamplingSettings } from "../../src/contract/sampler.ts";
import { sum } from "../../src/core/statistics.ts";
import { chatTool } from "../../src/core/tools/chat-tool.ts";
import { type CallNode, callTree, discardedCalls, pathTo, treeCounts } from "./call-tree.ts";
import type { RecordedSession } from "./capture-session.ts";
import type { CapturedCall } from "./captured-call.ts";
import { chatMessage } from "./dialects/openai-message.ts";

/** What a policy reports of its answers: token ids with logprobs, logprobs alone, or only text. */
export type CaptureLevel = "tokens" | "logprobs" | "text";

/** The purpose of a session. `auto`: training if the policy reports tokens. */
export type CapturePurpose = "auto" | "train" | "eval";

/** A session and its settings from the admin routes. */
export interface ExportedSession {
  readonly session: RecordedSession;
  readonly level: CaptureLevel;
  readonly purpose: CapturePurpose;
}

/** The optional parts of a document. */
interface DocumentOptions {
  /** Adds the paths whose answers the client dropped. */
  readonly includeDiscarded?: boolean;
  /** Adds the messages and tools of each call. */
  readonly includeMessages?: boolean;
}

/**
 * Returns the document of a session: one row per path from a first call to a last one. A row is the sequence of the
 * path's tokens with a mask that is 1 for sampled ones.
 */
export function rolloutDocument(
  { session, level, purpose }: ExportedSession,
  { includeDiscarded = false, includeMessages = false }: DocumentOptions = {},
): object {
  const nodes = callTree(session.calls());
  const discarded = discardedCalls(nodes);
  const training = level === "tokens" && purpose !== "eval";
  const rows = nodes
    .filter(({ children }) => children.length === 0)
    .map((leaf) => sequenceRow({ leaf, role: roleOf(leaf, nodes, discarded), training }))
    .filter(({ role }) => includeDiscarded || role !== "discarded");
  const trainable = rows.filter((row) => row.trainable);
  return {
    session_id: session.id,
    metadata: session.options.metadata ?? {},
    budget_stop_count: session.budgetStops,
    turns: nodes.map((node) => turnRow(node, { discarded: discarded.has(node), includeMessages })),
    stats: {
      ...treeCounts(nodes),
      n_sequences: rows.length,
      n_trainable_sequences: trainable.length,
      n_trainable_tokens: trainable.reduce((sum, { n_trainable }) => sum + n_trainable, 0),
    },
    sequences: rows,
    validation: findings(session, nodes),
    trainable: trainable.length > 0,
    capture_level: level,
    rollout_type: training ? "train" : "eval",
  };
}

/**
 * Returns the calls of the agent as OpenEnv's trace entries: the prompt's ids, the sampled ids, their logprobs and a
 * mask over both. Leaves out calls without tokens, calls whose answers the client dropped, and calls without tools if
 * others have them (such as a call that writes a title).
 */
export function traceEntries(session: RecordedSession): readonly object[] {
  const nodes = callTree(session.calls());
  const discarded = discardedCalls(nodes);
  const kept = new Set(
    nodes.filter((node) => node.children.length === 0 && roleOf(node, nodes, discarded) === "agent").flatMap(pathTo),
  );
  return nodes.filter((node) => kept.has(node) && node.call.tokens !== undefined).map(traceEntry);
}

function traceEntry(node: CallNode): object {
  const { call } = node;
  const { promptIds = [], tokens } = call;
  const { completionIds, logprobs } = tokens!;
  return {
    request: { messages: call.messages.map(chatMessage), tools: toolsOf(call) },
    response: { choices: [{ message: chatMessage(call.action.message), finish_reason: finishOf(call) }] },
    prompt_token_ids: promptIds,
    completion_token_ids: completionIds,
    per_token_logps: logprobs.map(notPositive),
    loss_mask: [...promptIds.map(() => 0), ...completionIds.map(() => 1)],
    metadata: {
      node_id: call.id,
      index: node.index,
      parent: node.parent?.call.id ?? null,
      rerendered: call.rerendered ?? false,
      weights_version: tokens!.weightsVersion,
      model: call.model,
      n_tools: (call.tools ?? []).length,
      harness_session_id: null,
      sampling_params: samplingFields(call.sampling),
      requested_sampling_params: samplingFields(call.requestedSampling),
    },
  };
}

type Role = "agent" | "auxiliary" | "discarded";

function roleOf(leaf: CallNode, nodes: readonly CallNode[], discarded: ReadonlySet<CallNode>): Role {
  const hasTools = ({ call }: CallNode): boolean => (call.tools ?? []).length > 0;
  if (discarded.has(leaf)) return "discarded";
  return !nodes.some(hasTools) || pathTo(leaf).some(hasTools) ? "agent" : "auxiliary";
}

function sequenceRow({ leaf, role, training }: { leaf: CallNode; role: Role; training: boolean }) {
  const path = pathTo(leaf);
  const ids: number[] = [];
  const mask: number[] = [];
  const logprobs: number[] = [];
  const turnLengths: number[] = [];
  for (const { call } of path) {
    const { promptIds = [], tokens } = call;
    const context = promptIds.slice(ids.length);
    ids.push(...context);
    for (const _ of context) {
      mask.push(0);
      logprobs.push(0);
    }
    const sampled = tokens?.completionIds ?? [];
    ids.push(...sampled);
    for (const index of sampled.keys()) {
      mask.push(training ? 1 : 0);
      logprobs.push(notPositive(tokens!.logprobs[index]!));
    }
    if (sampled.length > 0) turnLengths.push(sampled.length);
  }
  const count = sum(mask);
  return {
    role,
    root_id: path[0]!.call.id,
    node_ids: path.map(({ call }) => call.id),
    n_turns: path.length,
    prompt_len: path[0]!.call.promptIds?.length ?? 0,
    n_trainable: count,
    turn_lengths: training ? turnLengths : [],
    input_ids: ids,
    loss_mask: mask,
    logprobs,
    trainable: training && role === "agent" && count > 0,
    validation: [],
  };
}

function turnRow(node: CallNode, { discarded, includeMessages }: { discarded: boolean; includeMessages: boolean }) {
  const { call, index } = node;
  const messages = {
    request_messages: call.messages.map(chatMessage),
    request_tools: toolsOf(call),
    response_message: chatMessage(call.action.message),
  };
  return {
    node_id: call.id,
    index,
    root_id: pathTo(node)[0]!.call.id,
    n_sampled: call.tokens?.completionIds.length ?? 0,
    n_prompt: call.promptIds?.length ?? 0,
    n_tools: (call.tools ?? []).length,
    finish_reason: finishOf(call),
    harness_session_id: null,
    sampling_params: samplingFields(call.sampling),
    requested_sampling_params: samplingFields(call.requestedSampling),
    sampled_logprobs: call.tokens?.logprobs.map(notPositive) ?? null,
    rerendered: call.rerendered ?? false,
    discarded,
    ...(includeMessages ? messages : {}),
  };
}

function findings(session: RecordedSession, nodes: readonly CallNode[]): readonly string[] {
  const rerendered = nodes.filter(({ call }) => call.rerendered).length;
  return [
    ...(nodes.length === 0 ? ["[FATAL] no_calls: the session recorded no model calls"] : []),
    ...(rerendered === 0
      ? []
      : [`[INFO] rerendered: the template rendered earlier turns again, so a new sequence begins (${rerendered})`]),
    ...(session.budgetStops === 0 ? [] : [`[INFO] budget: the session had no calls left (${session.budgetStops})`]),
  ];
}

function toolsOf({ tools }: CapturedCall): readonly object[] | null {
  return tools?.map(chatTool) ?? null;
}

function finishOf({ action }: CapturedCall): string {
  if (action.finish === "length") return "length";
  return (action.message.toolCalls ?? []).length > 0 ? "tool_calls" : "stop";
}

/** Rounding can make a logprob slightly larger than 0, which readers refuse. */
function notPositive(logprob: number): number {
  return Math.min(0, logprob);
}

function samplingFields(sampling: Partial<SamplingSettings>): object {
  const { temperature, topP, topK, minP, maxTokens } = sampling;
  return JSON.parse(JSON.stringify({ temperature, top_p: topP, top_k: topK, min_p: minP, max_tokens: maxTokens }));
}
