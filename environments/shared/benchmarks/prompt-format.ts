import type { Action } from "../../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import { type Prompt, promptMessages } from "../../../src/contract/prompt.ts";
import { type WrappedEpisode, wrapEnvironment } from "../../../src/core/wrappers/wrap-environment.ts";

/** How a task is put to a model in place of the environment's own first prompt, for one agent and one turn. */
export interface PromptFormat<Task> {
  readonly prompt: (task: Task) => Prompt;
  /** What the environment is to judge, from what the model wrote; the text itself by default. */
  readonly answer?: (text: string, task: Task) => string;
  /** What an expert writes in this format; the environment's own demonstration by default. */
  readonly demonstrate?: (task: Task) => string | undefined;
  /** Texts that end an answer. */
  readonly stop?: readonly string[];
}

/**
 * The environment with its tasks in another format. The trace has what the model saw and wrote. Throws `config.invalid`
 * for an environment of several turns.
 */
export function withPromptFormat<Task>(
  environment: EnvironmentDefinition<Task>,
  format: PromptFormat<Task>,
): EnvironmentDefinition<Task> {
  const { prompt, demonstrate, stop = [] } = format;
  const { id, maxTurns } = environment.spec;
  if (maxTurns > 1) throw severalTurns(id, maxTurns);
  const [agent] = environment.spec.agents as readonly [string];
  const episode = (task: Task): WrappedEpisode => ({
    begin: (observations) => ({ [agent]: { ...observations[agent]!, messages: promptMessages(prompt(task)) } }),
    step: (actions, inner) =>
      inner({ [agent]: mapText(actions[agent]!, (text) => judged(format, cutAt(text, stop), task)) }),
    copy: () => episode(task),
  });
  return wrapEnvironment(environment, {
    start: ({ task }) => episode(task),
    ...(demonstrate === undefined
      ? {}
      : {
          demonstrate: (task: Task) => {
            const text = demonstrate(task);
            return text === undefined ? undefined : [{ [agent]: text }];
          },
        }),
  });
}

function severalTurns(environment: string, maxTurns: number): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `In the format completion a task has one turn, and maxTurns of "${environment}" is ${maxTurns}.`,
    hint: "Take --format chat for several turns: there, an answer that fails gets feedback.",
  });
}

function judged<Task>({ answer }: PromptFormat<Task>, text: string, task: Task): string {
  return answer === undefined ? text : answer(text, task);
}

/** The text up to the first of these: not every server stops where it is told. */
function cutAt(text: string, stop: readonly string[]): string {
  const ends = stop.map((mark) => text.indexOf(mark)).filter((at) => at >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

function mapText(action: Action, map: (text: string) => string): Action {
  return { ...action, message: textMessage("assistant", map(textOf(action.message))) };
}
