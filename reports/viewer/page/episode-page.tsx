import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { AgentEpisode, Episode } from "../../../src/contract/episode.ts";
import { formatCount, formatDuration } from "../../../src/core/text/format-numbers.ts";
import type { EpisodeView, ViewSource } from "../view-source.ts";
import { Conversation, JointConversation } from "./conversation.tsx";
import { pageSize } from "./episode-table.tsx";
import { isTyping } from "./is-typing.ts";
import { JsonView } from "./json-view.tsx";
import { Facts, Outcome, Problem, rewardText, Text } from "./parts.tsx";
import { RewardView } from "./reward-view.tsx";
import { type Route, routeHash } from "./route.ts";
import { tokenStyle } from "./token-text.tsx";
import { useData } from "./use-data.ts";
import { useHighlight } from "./use-highlight.ts";

type EpisodeRoute = Extract<Route, { page: "episode" }>;

/** A transcript with its reward and outcome. Arrow keys (or j and k) open its neighbours, Escape opens the list. */
export function EpisodePage({ source, route }: { readonly source: ViewSource; readonly route: EpisodeRoute }) {
  const { run, id, filter } = route;
  const { data, error } = useData((signal) => source.episode(run, { id, filter }, signal), {
    key: routeHash({ page: "episode", run, id, filter }),
  });
  const [colored, setColored] = useState(true);
  const place = Math.max(0, data?.position ?? 0);
  const offset = place - (place % pageSize);
  const list = routeHash({ page: "run", run, part: "episodes", filter, offset });
  const neighbour = (to: string | undefined): string | undefined =>
    to === undefined ? undefined : routeHash({ ...route, id: to });
  useEffect(() => {
    const go = (event: KeyboardEvent): void => {
      if (isTyping(event)) return;
      const { key } = event;
      if (key === "Escape") location.hash = list;
      if (key === "t") setColored((before) => !before);
      const to = "ArrowRight j".split(" ").includes(key)
        ? neighbour(data?.next)
        : "ArrowLeft k".split(" ").includes(key)
          ? neighbour(data?.previous)
          : undefined;
      if (to !== undefined) location.hash = to;
    };
    addEventListener("keydown", go);
    return () => removeEventListener("keydown", go);
  });
  useEffect(() => {
    if (data !== undefined) document.title = `${data.row.task.id} · Lyceum`;
    scrollTo(0, 0);
  }, [data?.row.id]);
  useHighlight(filter.text, `${data?.row.id} ${route.agent} ${route.all} ${colored}`);
  if (error !== undefined) return <Problem message={error} />;
  if (data === undefined) return <p class="soft">Reading the transcript…</p>;
  const { row, episode, position, matched } = data;
  const link = (to: string | undefined, label: string, name: string): JSX.Element =>
    to === undefined ? (
      <span class="button off">{label}</span>
    ) : (
      <a class="button" href={to} aria-label={name}>
        {label}
      </a>
    );
  return (
    <>
      <header class="title">
        <h1>
          <Text>{/^\d+$/.test(row.task.id) ? `task ${row.task.id}` : row.task.id}</Text>
        </h1>
        <Outcome outcome={row.outcome} />
        {row.reward !== null && <span>reward {rewardText(row.reward)}</span>}
        <span class="pager">
          {link(neighbour(data.previous), "←", "previous episode")}
          <a href={list} class="number">
            {position < 0 ? "not in the list" : `${formatCount(position + 1)} of ${formatCount(matched)}`}
          </a>
          {link(neighbour(data.next), "→", "next episode")}
        </span>
      </header>
      <div class="transcript">
        <Agents view={data} route={route} colored={colored} setColored={setColored} />
        <aside>
          {episode.error !== undefined && <ErrorView error={episode.error} />}
          <EpisodeFacts view={data} />
          {toldRewards(episode).map(([agent, { reward }]) => (
            <section key={agent}>
              <h2>
                Reward
                {Object.keys(episode.agents).length > 1 && (
                  <span class="soft">
                    {" "}
                    <Text>{agent}</Text>
                  </span>
                )}
              </h2>
              <RewardView reward={reward} />
            </section>
          ))}
          {(episode.info ?? []).map((info, index) => (
            <section key={index}>
              <h2>Info{episode.info!.length > 1 && ` ${index + 1}`}</h2>
              <JsonView value={info} />
            </section>
          ))}
          {data.task !== undefined && (
            <details open={episode.info === undefined}>
              <summary>Task</summary>
              <JsonView value={data.task.task} />
            </details>
          )}
        </aside>
      </div>
    </>
  );
}

function Agents(props: {
  readonly view: EpisodeView;
  readonly route: EpisodeRoute;
  readonly colored: boolean;
  readonly setColored: (colored: boolean) => void;
}): JSX.Element {
  const { view, route, colored, setColored } = props;
  const agents = Object.entries(view.episode.agents);
  const wanted = route.all === true ? undefined : (route.agent ?? route.filter.agent);
  const chosen = agents.find(([candidate]) => candidate === wanted) ?? (agents.length === 1 ? agents[0] : undefined);
  if (agents.length === 0) return <p class="soft">No agent took part.</p>;
  const { agent: _, all: __, ...bare } = route;
  const look = { texts: view.tokenTexts, colored, unfolded: route.filter.text !== undefined };
  const hasLogprobs = agents.some(
    ([, { turns, nodes }]) =>
      turns.some(({ logprobs }) => logprobs !== undefined) ||
      nodes.some(({ tokens }) => tokens?.logprobs !== undefined),
  );
  return (
    <div>
      {(agents.length > 1 || hasLogprobs) && (
        <div class="bar">
          {agents.length > 1 && (
            <a
              class={`button ${chosen === undefined ? "chosen" : ""}`}
              aria-current={chosen === undefined}
              href={routeHash({ ...bare, ...(route.filter.agent === undefined ? {} : { all: true }) })}
            >
              all agents
            </a>
          )}
          {agents.length > 1 &&
            agents.map(([candidate, { reward }]) => (
              <a
                key={candidate}
                class={`button ${candidate === chosen?.[0] ? "chosen" : ""}`}
                aria-current={candidate === chosen?.[0]}
                href={routeHash({ ...bare, agent: candidate })}
              >
                <Text>{candidate}</Text>{" "}
                <span class="soft">{rewardText(reward.status === "scored" ? reward.value : null)}</span>
              </a>
            ))}
          {hasLogprobs && (
            <label class="soft">
              <input type="checkbox" checked={colored} onChange={(event) => setColored(event.currentTarget.checked)} />{" "}
              colour tokens by log-probability
            </label>
          )}
          {hasLogprobs && colored && (
            <span class="legend" aria-hidden="true">
              {[1, 0.5, 0.1, 0.01].map((probability) => (
                <span key={probability} class="token" style={tokenStyle(Math.log(probability))}>
                  {probability * 100} %
                </span>
              ))}
            </span>
          )}
        </div>
      )}
      {chosen === undefined ? (
        <JointConversation key={view.row.id} agents={view.episode.agents} {...look} />
      ) : (
        <Conversation key={view.row.id} name={chosen[0]} agent={chosen[1]} {...look} />
      )}
    </div>
  );
}

/** Returns the rewards, unless an error left all of them unscored and explains more. */
function toldRewards({ agents, error }: Episode): [string, AgentEpisode][] {
  return Object.entries(agents).filter(
    ([, { reward }]) => error === undefined || reward.status === "scored" || reward.reason !== error.message,
  );
}

function statusText({ status, limit }: Episode): string {
  if (limit === undefined) return status;
  if (limit !== "shape") return `${status} by the limit of ${limit}`;
  return `${status}: a turn exceeded terminationThreshold, or the joint shape did not go on with it`;
}

/** Returns the agents with their policies. For one agent, the policy alone. Empty if the trace does not have them. */
function policyText({ agents }: Episode): string {
  const named = Object.entries(agents).flatMap(([agent, { policy }]) =>
    policy === undefined ? [] : [{ agent, policy }],
  );
  return named.map(({ agent, policy }) => (named.length === 1 ? policy : `${agent}: ${policy}`)).join(", ");
}

function EpisodeFacts({ view: { row, episode, task } }: { readonly view: EpisodeView }): JSX.Element {
  const turns = Object.values(episode.agents).flatMap((agent) => agent.turns);
  const read = turns.reduce((sum, { usage }) => sum + (usage?.promptTokens ?? 0), 0);
  return (
    <Facts
      facts={[
        ["status", statusText(episode)],
        ["step", row.step === undefined ? "" : formatCount(row.step)],
        ["group", row.level],
        ["sample", String(row.sampleIndex)],
        ["turns", String(row.turns)],
        [
          "tokens",
          row.tokens === null
            ? ""
            : `${read > 0 ? `${formatCount(read)} read, ` : ""}${formatCount(row.tokens)} written`,
        ],
        ["time", formatDuration(row.durationMs)],
        ["seed", String(task?.seed ?? episode.seed)],
        ["environment", episode.environment],
        ["policy", policyText(episode)],
        ["id", episode.id],
      ]}
    />
  );
}

function ErrorView({ error }: { readonly error: NonNullable<Episode["error"]> }): JSX.Element {
  return (
    <div class="problem">
      <b>
        <Text>{error.code}</Text>
      </b>{" "}
      <Text>{error.message}</Text>
      {error.hint !== undefined && (
        <p>
          <Text>{error.hint}</Text>
        </p>
      )}
      {error.data !== undefined && <JsonView value={error.data} />}
    </div>
  );
}
