import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Episode, Group } from "../../src/contract/episode.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import type { EvaluateOptions } from "../../src/evaluation/evaluate-options.ts";
import { evaluatedAgents } from "../../src/evaluation/evaluated-agents.ts";
import type { EvaluationManifest } from "../../src/evaluation/log/manifest.ts";
import type { EvaluationSummary } from "../../src/evaluation/log/summary.ts";
import { rotatePlayers } from "../../src/evaluation/rotate-players.ts";
import { trainedGroup } from "../credit/trained-agents.ts";
import { agentMetrics } from "../metrics/agent-metrics.ts";
import { rolloutMetrics } from "../metrics/rollout-metrics.ts";
import { taskGroupMetric, taskGroupMetrics } from "../metrics/task-group-metrics.ts";
import { throwIfAllFailed } from "../rollouts/failed-batch.ts";

/**
 * Evaluates the policies of a training by {@link evaluate}, which stores the evaluation in `folder`. Returns its
 * episodes and its metrics: those of {@link rolloutMetrics} except `groups/without-signal`, `accuracy` (that of the
 * evaluation's summary, over scored episodes) and `accuracy/over-all` (the same if unscored episodes count as wrong).
 *
 * - If tasks have groups (`groupOf`), also returns the reward and the accuracy of each: see {@link taskGroupMetric}.
 * - If there are several agents, also returns each agent's reward. All other metrics are those of the agents that are
 *   not `frozen`.
 * - If there is an `opponent`, every task is played from both sides of a game of two agents. The metrics leave the
 *   opponent out.
 *
 * If every episode fails, throws the error of the first. A rejected API key leaves episodes unscored, but does not end
 * the training.
 */
export async function evaluatePolicies<Task>(
  options: Omit<EvaluateOptions<Task>, "policies"> & {
    readonly policies: Readonly<Record<AgentId, Policy>>;
    readonly opponent?: Policy | undefined;
    /** Called after each episode. */
    readonly onEpisode?: () => void;
  },
): Promise<{ readonly episodes: readonly Episode[]; readonly metrics: Record<string, number> }> {
  const { policies, opponent, samples = 1, onEpisode, ...rest } = options;
  const events = evaluate({
    ...rest,
    ...(opponent === undefined
      ? { policies, samples }
      : { ...bothSides(options.environment.spec.agents, [policies, opponent]), samples: 2 * samples }),
    ignoreRefusedKeys: true,
  });
  const episodes: Episode[] = [];
  let manifest: EvaluationManifest | undefined;
  let summary: EvaluationSummary | undefined;
  for await (const event of events) {
    if (event.type === "start") manifest = event.manifest;
    else if (event.type === "end") summary = event.summary;
    else if (event.type === "episode") {
      episodes.push(event.episode);
      onEpisode?.();
    }
  }
  const groups = groupsOf(episodes);
  throwIfAllFailed(groups);
  return { episodes, metrics: metricsOf(groups, { ...options, manifest: manifest!, summary: summary! }) };
}

/** Each player plays each side in half of the samples. */
function bothSides(
  agents: readonly AgentId[],
  [policies, opponent]: readonly [Readonly<Record<AgentId, Policy>>, Policy],
): Pick<EvaluateOptions, "policies" | "models" | "rotated"> {
  const [first, second] = agents as readonly [AgentId, AgentId];
  return {
    policies: rotatePlayers(agents, [policies, opponent]),
    models: { [first]: policies[first]!.name, [second]: opponent.name },
    rotated: true,
  };
}

/** Returns the groups of all episodes, by task and in the order of their sample indices. */
function groupsOf(episodes: readonly Episode[]): Group[] {
  const byTask = [...Map.groupBy(episodes, ({ task }) => task.index).values()];
  return byTask
    .map((group) => ({ task: group[0]!.task, episodes: group.toSorted((a, b) => a.sampleIndex - b.sampleIndex) }))
    .sort((a, b) => a.task.index - b.task.index);
}

function metricsOf<Task>(
  played: readonly Group[],
  options: {
    readonly environment: EnvironmentDefinition<Task>;
    readonly manifest: EvaluationManifest;
    readonly summary: EvaluationSummary;
  },
): Record<string, number> {
  const { environment, manifest, summary } = options;
  const { environmentOf, spec } = environment;
  const evaluated = evaluatedAgents(manifest);
  const groups = played.map((group) =>
    trainedGroup(
      group,
      (sampleIndex) => new Set(manifest.spec.agents.filter((agent) => !evaluated(sampleIndex).has(agent))),
    ),
  );
  const { "groups/without-signal": _, ...metrics } = rolloutMetrics(groups, { tools: spec.tools, environmentOf });
  const { accuracy } = summary.metrics;
  const accuracies = Object.entries(summary.levels).flatMap(([name, { metrics: ofGroup }]) =>
    ofGroup.accuracy === undefined ? [] : [[taskGroupMetric("accuracy", name, environment), ofGroup.accuracy.value]],
  );
  const groupOf = new Map(summary.tasks.map(({ index, level }) => [index, level]));
  return {
    ...metrics,
    // An opponent plays each agent in half of the episodes.
    ...agentMetrics(manifest.identity.rotated === true ? groups : played),
    ...taskGroupMetrics(
      groups.map((group) => ({ group, taskGroup: groupOf.get(group.task.index) })),
      { environment, named: new Set(Object.keys(summary.levels)) },
    ),
    ...Object.fromEntries(accuracies),
    ...(accuracy === undefined ? {} : { accuracy: accuracy.value, "accuracy/over-all": accuracy.overAll! }),
  };
}
