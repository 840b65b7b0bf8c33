import type { ActRequest, ActResult } from "../../contract/policy.ts";
import { withoutInlineReasoning } from "../tokens/split-reasoning.ts";
import type { AgentRecorder } from "./agent-recorder.ts";
import { turnLimit } from "./episode-recorder.ts";
import { resetSeed, turnSeed } from "./episode-seeds.ts";
import { policyFailure } from "./rollout-error.ts";
import type { EpisodePosition, RunSettings } from "./run-settings.ts";
import type { TurnRequests } from "./turn-requests.ts";

/** The position and the agent of a request. */
interface Asked<Task> {
  readonly settings: RunSettings<Task>;
  readonly position: EpisodePosition<Task>;
  readonly recorder: AgentRecorder;
  readonly turn: number;
  readonly signal: AbortSignal;
}

/**
 * Sends one request to the policy of an agent. The seed of the request derives from the task, the sample index, the
 * agent and the turn. Rejects with a typed error.
 */
export function askPolicy<Task>(
  options: Asked<Task> & {
    /** Present if a policy of the rollout batches. */
    readonly requests: TurnRequests | undefined;
  },
): Promise<ActResult> {
  const { recorder, requests } = options;
  const { agent, policy } = recorder;
  const settled = requests?.add(policy);
  let answer: Promise<ActResult>;
  try {
    answer = Promise.resolve(policy.act(actRequest(options)));
  } catch (error) {
    answer = Promise.reject(error);
  }
  return answer.then(
    (result) => {
      settled?.();
      return withoutInlineReasoning(result);
    },
    (error) => {
      settled?.();
      throw policyFailure(policy, `agent "${agent}"`, error);
    },
  );
}

function actRequest<Task>({ settings, position, recorder, turn, signal }: Asked<Task>): ActRequest {
  const { limits, sampling, pool } = settings;
  const { entry, group, sampleIndex, seed } = position;
  const { agent, policy, previous, templateVariables } = recorder;
  const { spec } = pool.factory;
  const room = limits.tokens - recorder.sampledTokens;
  const tools = recorder.tools ?? spec.tools;
  return {
    agent,
    messages: recorder.conversation(),
    sampling: room < sampling.maxTokens ? { ...sampling, maxTokens: room } : sampling,
    seed: turnSeed({ seed, hash: entry.hash, sampleIndex, agent, turn }),
    episode: { task: entry, seed: resetSeed(position), sampleIndex, turn },
    signal,
    ...(tools === undefined ? undefined : { tools }),
    ...(templateVariables === undefined ? undefined : { templateVariables }),
    ...(previous === undefined ? undefined : { previous }),
    ...(turn + 1 >= turnLimit(spec, limits) ? { last: true } : undefined),
    ...(policy.flush === undefined ? undefined : { order: [group, sampleIndex, spec.agents.indexOf(agent)] }),
  };
}
