import type { EnvironmentDefinition } from "../environment/environment.ts";
import { LyceumError } from "../errors/index.ts";
import { textMessage } from "../message/message.ts";
import type { Renderer } from "../tokens/renderer.ts";
import type { ActRequest, Policy } from "./policy.ts";
import { renderPrompt } from "./render-prompt.ts";

/**
 * The expert of an environment: answers as its `demonstrate` says. With a renderer the answers come with tokens, as if
 * a model had sampled them with certainty (log-probabilities 0, weights version 0), so that supervised training is a
 * rollout like any other. Rejects with `policy.unsupported-input` where the environment has no demonstration.
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
      const message = textMessage("assistant", demonstratedText(environment, request));
      const action = { message, finish: "stop" } as const;
      if (renderer === undefined) return { action };
      const completionIds = renderer.complete(message);
      const logprobs = completionIds.map(() => 0);
      return { action, tokens: { ...renderPrompt(renderer, request), completionIds, logprobs, weightsVersion: 0 } };
    },
  };
}

function demonstratedText<Task>(
  environment: Pick<EnvironmentDefinition<Task>, "spec" | "demonstrate">,
  { agent, episode }: ActRequest,
): string {
  const demonstration =
    episode === undefined ? undefined : environment.demonstrate?.(episode.task.task as Task)?.[episode.turn];
  const text = demonstration?.[agent];
  if (text !== undefined) return text;
  const place = episode === undefined ? "" : ` turn ${episode.turn} of task "${episode.task.id}"`;
  throw new LyceumError({
    code: "policy.unsupported-input",
    message: `Environment "${environment.spec.id}" demonstrates nothing for agent "${agent}" in${place || " no episode"}.`,
    hint: "Give the environment a demonstrate function that covers every turn, or leave such tasks out.",
  });
}
