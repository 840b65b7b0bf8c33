import type { Action } from "../../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import { type Prompt, promptMessages } from "../../../src/contract/prompt.ts";
import { type WrappedEpisode, wrapEnvironment } from "../../../src/core/wrappers/wrap-environment.ts";

/**
 * How a task is presented to a model, in place of the environment's own prompt. For environments with one agent and one
 * turn.
 */
export interface PromptFormat<Task> {
  readonly prompt: (task: Task) => Prompt;
  /** Returns the text that the environment scores, from the model's text. Defaults to the model's text. */
  readonly answer?: (text: string, task: Task) => string;
  /** Returns a demonstration in this format. Defaults to the environment's demonstration. */
  readonly demonstrate?: (task: Task) => string | undefined;
  /** The stop sequences of an answer. */
  readonly stop?: readonly string[];
}

/**
 * Returns the environment with its tasks in another format. The trace contains the prompt that the model read and the
 * text that it wrote. Throws `config.invalid` for an environment with several turns.
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
      inner({ [agent]: mapText(actions[agent]!, (text) => answerText(format, cutAt(text, stop), task)) }),
    copy: () => episode(task),
  });
  return wrapEnvironment(environment, {
    start: ({ task }) => episode(task),
    demonstrate:
      demonstrate &&
      ((task) => {
        const text = demonstrate(task);
        return text === undefined ? undefined : [{ [agent]: text }];
      }),
  });
}

function severalTurns(environment: string, maxTurns: number): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The format completion supports one turn, but maxTurns of "${environment}" is ${maxTurns}.`,
    hint: "Use --format chat for several turns, with feedback to wrong answers.",
  });
}

function answerText<Task>({ answer }: PromptFormat<Task>, text: string, task: Task): string {
  return answer === undefined ? text : answer(text, task);
}

/** Returns the text up to the first stop sequence. Some servers ignore stop sequences. */
function cutAt(text: string, stop: readonly string[]): string {
  const ends = stop.map((mark) => text.indexOf(mark)).filter((at) => at >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

function mapText(action: Action, map: (text: string) => string): Action {
  return { ...action, message: textMessage("assistant", map(textOf(action.message))) };
}
