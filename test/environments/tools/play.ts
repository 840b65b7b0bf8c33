import type { ToolsTask } from "../../../environments/tools/tools-task.ts";
import type { Action } from "../../../src/contract/action.ts";
import type { EnvironmentDefinition, StepResult } from "../../../src/contract/environment.ts";
import { type Message, textMessage, textOf } from "../../../src/contract/message.ts";

/** Plays messages one after another. Each is a text or a complete action. */
export async function play(
  environment: EnvironmentDefinition<ToolsTask>,
  task: ToolsTask,
  messages: readonly (string | Message | Action)[],
): Promise<StepResult[]> {
  const instance = await environment.create();
  try {
    await instance.reset({ task, seed: 1 });
    const results: StepResult[] = [];
    for (const message of messages) {
      results.push(await instance.step({ agent: actionOf(message) }));
    }
    return results;
  } finally {
    await instance.close();
  }
}

function actionOf(message: string | Message | Action): Action {
  if (typeof message === "string") return { message: textMessage("assistant", message), finish: "stop" };
  return "message" in message ? message : { message, finish: "tool-calls" };
}

/** Returns what the agent reads after a step. */
export function replyOf(result: StepResult | undefined): string {
  return result?.observations.agent?.messages.map(textOf).join("\n") ?? "";
}

/** Returns the value of the episode's reward. */
export function rewardOf(results: readonly StepResult[]): unknown {
  const reward = results.at(-1)?.agents.agent?.reward;
  return reward?.status === "scored" ? reward.value : reward?.status;
}

/** Returns a call as a model writes it in its text. */
export function callText(name: string, input: object): string {
  return `<tool_call>${JSON.stringify({ name, arguments: input })}</tool_call>`;
}
