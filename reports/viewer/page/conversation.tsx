import type { JSX } from "preact";
import type { AgentEpisode, AgentTurn, MessageNode } from "../../../src/contract/episode.ts";
import { isReasoningOnly } from "../../../src/core/rollout/reasoning-only.ts";
import { sum } from "../../../src/core/statistics.ts";
import { formatCount, formatDuration, formatNumber } from "../../../src/core/text/format-numbers.ts";
import { timeline } from "../../../src/core/trace/timeline.ts";
import { MessageView } from "./message-view.tsx";
import { ModelCalls } from "./model-calls.tsx";
import { Text } from "./parts.tsx";
import type { ShownToken } from "./token-text.tsx";

/** How the messages of a transcript are shown. */
interface TranscriptLook {
  /** Texts of tokens by agent and node, if the trace has only ids. */
  readonly texts: Readonly<Record<string, Readonly<Record<number, readonly string[]>>>>;
  readonly colored: boolean;
  /** Long messages are shown completely. */
  readonly unfolded: boolean;
}

/** One agent's messages in order, with the facts of each of its turns. */
export function Conversation(
  props: TranscriptLook & { readonly name: string; readonly agent: AgentEpisode },
): JSX.Element {
  const { name, agent, texts, colored, unfolded } = props;
  const turns = new Map(agent.turns.map((turn) => [turn.node, turn]));
  if (agent.nodes.length === 0) return <p class="soft">No message.</p>;
  return (
    <div class="messages">
      {agent.nodes.map((node, index) => {
        const turn = turns.get(node.id);
        const tokens = colored ? shownTokens(node, { turn, texts: texts[name]?.[node.id] }) : undefined;
        const goesOn = index === 0 || node.parent === agent.nodes[index - 1]!.id;
        return (
          <div key={node.id}>
            {!goesOn && <p class="break">a new conversation begins</p>}
            {turn?.calls !== undefined && <ModelCalls calls={turn.calls} unfolded={unfolded} />}
            <MessageView message={node.message} tokens={tokens} unfolded={unfolded} />
            {turn !== undefined && <TurnLine agent={agent} turn={turn} only={agent.turns.length === 1} />}
          </div>
        );
      })}
    </div>
  );
}

/** The messages of all agents in one order, by turn. */
export function JointConversation(
  props: TranscriptLook & { readonly agents: Readonly<Record<string, AgentEpisode>> },
): JSX.Element {
  const { agents, texts, colored, unfolded } = props;
  const names = Object.keys(agents);
  const entries = timeline(agents);
  if (entries.length === 0) return <p class="soft">No message.</p>;
  return (
    <div class="messages joint">
      {entries.map(({ agent, readers, node, turn }, index) => {
        const tokens = colored ? shownTokens(node, { turn, texts: texts[agent]?.[node.id] }) : undefined;
        const isNewTurn = node.turn !== entries[index - 1]?.node.turn;
        return (
          <div key={`${agent} ${node.id}`}>
            {isNewTurn && <p class="break">turn {node.turn + 1}</p>}
            <div class={turn === undefined ? "" : `acts agent-${names.indexOf(agent) % 8}`}>
              {turn?.calls !== undefined && <ModelCalls calls={turn.calls} unfolded={unfolded} />}
              <MessageView
                message={node.message}
                tokens={tokens}
                agents={turn === undefined ? readers : [agent]}
                unfolded={unfolded}
              />
              {turn !== undefined && <TurnLine agent={agents[agent]!} turn={turn} only={true} />}
            </div>
          </div>
        );
      })}
    </div>
  );
}

function TurnLine({ agent, turn, only }: { agent: AgentEpisode; turn: AgentTurn; only: boolean }): JSX.Element {
  const node = agent.nodes[turn.node]!;
  const { finish, usage, latencyMs, retries, reward, parseErrors } = turn;
  const written = usage?.completionTokens ?? node.tokens?.ids.length;
  const parts = [
    only ? undefined : `turn ${turn.turn + 1}`,
    reward === undefined || only
      ? undefined
      : reward.status === "scored"
        ? `reward ${formatNumber(reward.value)}`
        : "unscored",
    finish === "stop" ? undefined : `ended by ${finish}`,
    isReasoningOnly(agent, turn) ? "reasoning alone" : undefined,
    written === undefined ? undefined : `${formatCount(written)} tokens`,
    meanLogprob(turn, node),
    latencyMs === undefined ? undefined : formatDuration(latencyMs),
    retries === undefined || retries === 0 ? undefined : `${retries} retries`,
  ].filter((part) => part !== undefined);
  return (
    <>
      {parts.length > 0 && <p class="turn">{parts.join(" · ")}</p>}
      {parseErrors?.map(({ message, text }) => (
        <div class="problem" key={text}>
          <Text>{message}</Text>
          <pre>
            <Text>{text}</Text>
          </pre>
        </div>
      ))}
    </>
  );
}

function meanLogprob({ logprobs }: AgentTurn, { tokens }: MessageNode): string | undefined {
  const values = logprobs?.map(({ logprob }) => logprob) ?? tokens?.logprobs;
  if (values === undefined || values.length === 0) return undefined;
  return `mean log-probability ${formatNumber(sum(values) / values.length)}`;
}

/** Returns the sampled tokens of a message as texts, if they are known. */
function shownTokens(
  { tokens }: MessageNode,
  options: { readonly turn: AgentTurn | undefined; readonly texts: readonly string[] | undefined },
): readonly ShownToken[] | undefined {
  const { turn, texts } = options;
  if (turn?.logprobs !== undefined && turn.logprobs.length > 0) return turn.logprobs;
  const { logprobs } = tokens ?? {};
  if (logprobs === undefined || texts === undefined) return undefined;
  return texts.map((text, index) => ({ text, logprob: logprobs[index] ?? 0 }));
}
