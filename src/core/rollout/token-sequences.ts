import type { AgentId } from "../../contract/action.ts";
import type {
  AgentEpisode,
  AgentTurn,
  Episode,
  NodeTokens,
  RecordedCall,
  TokenSequence,
} from "../../contract/episode.ts";
import type { TokenSupport } from "../../contract/token-support.ts";

/** A part of a sequence: the tokens of a node or of a model call. */
interface Piece {
  readonly turn: number;
  readonly tokens: NodeTokens;
}

/**
 * Returns the token sequences of an episode in order, of all agents or of one. A sequence begins at the first node,
 * after a `replace`, and if the template could not extend the previous tokens. The ids are those of the trace: nothing
 * is encoded again. Skips sequences without a sampled token.
 *
 * The model calls of an action are sequences of their own. A call that continues the last call of a sequence extends
 * it. A call that continues an earlier one is a branch and begins a new sequence: the tokens before the branch are in
 * it with mask 0, because the first sequence has them with mask 1. So each sampled token has mask 1 exactly once.
 */
export function tokenSequences(episode: Episode, agent?: AgentId): TokenSequence[] {
  return Object.entries(episode.agents)
    .filter(([name]) => agent === undefined || name === agent)
    .flatMap(([name, record]) => agentSequences(name, record));
}

function agentSequences(agent: AgentId, record: AgentEpisode): TokenSequence[] {
  const turnOf = new Map(record.turns.map((turn) => [turn.node, turn]));
  const runs: Piece[][] = [];
  for (const { id, turn, tokens } of record.nodes) {
    const calls = turnOf.get(id)?.calls;
    if (calls !== undefined) runs.push(...callRuns(turn, calls));
    if (tokens === undefined) continue;
    if (tokens.startsSequence || runs.length === 0) runs.push([]);
    runs.at(-1)!.push({ turn, tokens });
  }
  const cutOff = record.turns.some(isCutOff);
  return runs
    .filter((pieces) => pieces.some(isSampled))
    .map((pieces) => ({ ...sequence(agent, pieces), ...(cutOff ? { cutOff } : {}) }));
}

/** Returns true if the maximum number of tokens cut off a completion of a turn. */
function isCutOff({ finish, calls = [] }: AgentTurn): boolean {
  return finish === "length" || calls.some((call) => call.finish === "length");
}

/**
 * Returns the token sequences of an agent's last turn: the prompts and completions of its model calls, or the whole
 * prompt and the completion of its action. `mask` is 1 for the completions of this turn only.
 */
export function lastTurnSequences(
  agent: AgentId,
  { nodes, turns }: Pick<AgentEpisode, "nodes" | "turns">,
): TokenSequence[] {
  const last = turns.at(-1);
  if (last === undefined) return [];
  const runs = last.calls === undefined ? actionRuns(nodes) : callRuns(last.turn, last.calls);
  const cutOff = isCutOff(last);
  return runs
    .filter((pieces) => pieces.some(isSampled))
    .map((pieces) => ({ ...sequence(agent, pieces), ...(cutOff ? { cutOff } : {}) }));
}

/** Returns the run of the last node: the tokens of its sequence as a prompt, and its own. */
function actionRuns(nodes: AgentEpisode["nodes"]): Piece[][] {
  const start = nodes.findLastIndex(({ tokens }) => tokens?.startsSequence);
  const pieces = nodes.slice(Math.max(start, 0)).flatMap(({ turn, tokens }) => (tokens ? [{ turn, tokens }] : []));
  return [[...pieces.slice(0, -1).map(seen), ...pieces.slice(-1)]];
}

/** Returns the runs of model calls, in the order in which they begin. */
function callRuns(turn: number, calls: readonly RecordedCall[]): Piece[][] {
  /** The run that each call ends, at the time of the call, and the number of its pieces until then. */
  const ends: { readonly run: Piece[]; readonly length: number }[] = [];
  const runs: Piece[][] = [];
  for (const { continues, prompt, completion } of calls) {
    const own = [prompt, completion].flatMap((tokens) => (tokens ? [{ turn, tokens }] : []));
    const before = continues === undefined || prompt?.startsSequence !== false ? undefined : ends[continues];
    let run = before?.run;
    if (run === undefined || run.length > before!.length || !sameTemperature(run, own)) {
      run = (run ?? []).slice(0, before?.length).map(seen);
      runs.push(run);
    }
    run.push(...own);
    ends.push({ run, length: run.length });
  }
  return runs;
}

/** A sequence is sampled at one temperature. */
function sameTemperature(first: readonly Piece[], second: readonly Piece[]): boolean {
  const temperatures = [...first, ...second].filter(isSampled).map(({ tokens }) => tokens.temperature);
  return new Set(temperatures).size <= 1;
}

/** The piece as part of the prompt of a later completion. */
function seen({ turn, tokens: { ids, startsSequence } }: Piece): Piece {
  return { turn, tokens: { ids, mask: 0, startsSequence } };
}

function sequence(agent: AgentId, pieces: readonly Piece[]): TokenSequence {
  const ids: number[] = [];
  const mask: (0 | 1)[] = [];
  const logprobs: number[] = [];
  const supports: TokenSupport[] = [];
  const turns: number[] = [];
  let weightsVersion = Infinity;
  for (const { turn, tokens } of pieces) {
    for (const [index, id] of tokens.ids.entries()) {
      ids.push(id);
      mask.push(tokens.mask);
      logprobs.push(tokens.logprobs?.[index] ?? 0);
      supports.push(tokens.supports?.[index] ?? null);
      turns.push(turn);
    }
    weightsVersion = Math.min(weightsVersion, tokens.weightsVersion ?? Infinity);
  }
  const values = pieces.every((piece) => !isSampled(piece) || piece.tokens.values !== undefined)
    ? valuesAfter(pieces)
    : undefined;
  const temperature = pieces.find(isSampled)!.tokens.temperature ?? 1;
  return {
    agent,
    ids,
    mask,
    logprobs,
    ...(supports.every((support) => support === null) ? {} : { supports }),
    ...(pieces.some(({ tokens }) => tokens.lacksSupports) ? { lacksSupports: true } : {}),
    ...(values === undefined ? {} : { values }),
    turns,
    temperature,
    weightsVersion: Number.isFinite(weightsVersion) ? weightsVersion : 0,
  };
}

/** The values after each id. The first value of a completion belongs to the state after the id before it. */
function valuesAfter(pieces: readonly Piece[]): number[] {
  const after: number[] = [];
  for (const {
    tokens: { ids, values },
  } of pieces) {
    if (values !== undefined && after.length > 0) after[after.length - 1] = values[0]!;
    for (const index of ids.keys()) after.push(values?.[index + 1] ?? 0);
  }
  return after;
}

function isSampled({ tokens }: Piece): boolean {
  return tokens.mask === 1 && tokens.ids.length > 0;
}
