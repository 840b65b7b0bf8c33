import type { Action } from "../../contract/action.ts";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { type Message, textMessage } from "../../contract/message.ts";
import type { ActRequest, ActTokens, Policy } from "../../contract/policy.ts";
import type { Renderer } from "../tokens/renderer.ts";
import { renderPrompt, requestRenderer } from "./render-prompt.ts";

/**
 * Creates the expert of an environment, which answers with its `demonstrate` function. With a renderer the answers have
 * tokens, as if a model had sampled them with certainty (log-probabilities 0, weights version 0), so supervised
 * training can use an ordinary rollout. Rejects with `policy.unsupported-input` if the environment has no
 * demonstration.
 *
 * @example
 * import { collectGroups, demonstrationPolicy, rollout } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const tasks = await environment.tasks("test[:2]");
 * const policies = demonstrationPolicy({ environment });
 * const groups = await collectGroups(rollout({ environment, tasks, policies, seed: 1 }));
 * groups.map(({ episodes }) => episodes[0]?.agents.agent?.reward.status); // => ["scored", "scored"]
 */
export function demonstrationPolicy<Task>(options: {
  readonly environment: Pick<EnvironmentDefinition<Task>, "spec" | "demonstrate">;
  readonly renderer?: Renderer;
}): Policy {
  const { environment, renderer } = options;
  return {
    specificationVersion: "v1",
    name: `demonstrations of ${environment.spec.id}`,
    accepts: renderer?.accepts ?? ["text", "reasoning", "image"],
    act: async (request) => {
      request.signal?.throwIfAborted();
      const action = demonstratedAction(demonstratedAnswer(environment, request));
      if (renderer === undefined) return { action };
      return { action, tokens: demonstratedTokens(action.message, request, renderer) };
    },
  };
}

/** Returns the tokens of an expert's answer, as if a model had sampled them with certainty. */
export function demonstratedTokens(answer: Message, request: ActRequest, renderer: Renderer): ActTokens {
  const completionIds = requestRenderer(renderer, request).complete(answer);
  const logprobs = completionIds.map(() => 0);
  return { ...renderPrompt(renderer, request).tokens, completionIds, logprobs, weightsVersion: 0 };
}

/** Converts the answer of a demonstration to a message. */
export function demonstratedMessage(answer: string | Message): Message {
  return typeof answer === "string" ? textMessage("assistant", answer) : answer;
}

/** An answer of a demonstration as an action. */
export function demonstratedAction(answer: string | Message): Action {
  const message = demonstratedMessage(answer);
  return { message, finish: message.toolCalls === undefined ? "stop" : "tool-calls" };
}

function demonstratedAnswer<Task>(
  environment: Pick<EnvironmentDefinition<Task>, "spec" | "demonstrate">,
  { agent, episode }: ActRequest,
): string | Message {
  const answer =
    episode === undefined
      ? undefined
      : environment.demonstrate?.(episode.task.task as Task, episode)?.[episode.turn]?.[agent];
  if (answer !== undefined) return answer;
  const place =
    episode === undefined ? "outside of an episode" : `in turn ${episode.turn} of task "${episode.task.id}"`;
  throw new LyceumError({
    code: "policy.unsupported-input",
    message: `Environment "${environment.spec.id}" has no demonstration for agent "${agent}" ${place}.`,
    hint: "Add a demonstrate function that covers every turn to the environment, or remove such tasks.",
  });
}
