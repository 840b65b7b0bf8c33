import type { Action, AgentId } from "../../src/contract/action.ts";
import type { Environment, EnvironmentSpec, Observations, StepResult } from "../../src/contract/environment.ts";
import { scored } from "../../src/contract/reward.ts";
import { contractError } from "../../src/core/environment/environment-error.ts";
import { haveSameContent } from "./chat-message.ts";
import { answerPositions, type ConversationTask } from "./conversation-task.ts";

interface Replay {
  readonly task: ConversationTask;
  /** The positions of the assistant's messages. */
  readonly answers: readonly number[];
  readonly turn: number;
  /** The number of answers that matched the conversation. */
  readonly same: number;
}

/** Replays the messages to the assistant. The agent's answers do not change them. */
export class ConversationEnvironment implements Environment<ConversationTask> {
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  #replay: Replay | undefined;
  #closed = false;

  constructor(spec: EnvironmentSpec) {
    this.spec = spec;
  }

  async reset({ task }: { readonly task: ConversationTask }): Promise<Observations> {
    if (this.#closed) throw this.#broken("was reset after it was closed", "Create another instance.");
    this.#replay = { task, answers: answerPositions(task, this.spec.maxTurns), turn: 0, same: 0 };
    return observed(this.#replay);
  }

  async step(actions: Readonly<Record<AgentId, Action>>): Promise<StepResult> {
    const replay = this.#replay;
    const action = actions.agent;
    if (replay === undefined || action === undefined) {
      throw this.#broken(
        "was stepped without an episode or an action",
        "Call reset first, and pass { agent: action }.",
      );
    }
    const { task, answers, turn } = replay;
    const same = replay.same + Number(haveSameContent(action.message, task.messages[answers[turn]!]!));
    const ended = turn + 1 === answers.length;
    this.#replay = ended ? undefined : { ...replay, turn: turn + 1, same };
    return {
      observations: this.#replay === undefined ? {} : observed(this.#replay),
      agents: {
        agent: {
          terminated: ended,
          truncated: false,
          ...(ended ? { reward: scored(same / answers.length, { same: same / answers.length }) } : {}),
        },
      },
    };
  }

  async fork(): Promise<ConversationEnvironment> {
    const copy = new ConversationEnvironment(this.spec);
    copy.#replay = this.#replay;
    return copy;
  }

  async close(): Promise<void> {
    this.#replay = undefined;
    this.#closed = true;
  }

  #broken(problem: string, rule: string): Error {
    return contractError({ environment: this.spec.id, problem, rule });
  }
}

/** Returns the messages since the previous answer. */
function observed({ task, answers, turn }: Replay): Observations {
  const messages = task.messages.slice(turn === 0 ? 0 : answers[turn - 1]! + 1, answers[turn]);
  const { tools, templateVariables } = task;
  return {
    agent: {
      messages,
      context: "append",
      ...(tools === undefined ? {} : { tools }),
      ...(templateVariables === undefined ? {} : { templateVariables }),
    },
  };
}
