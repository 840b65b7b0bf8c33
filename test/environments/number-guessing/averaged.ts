import type { Environment, EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";

/**
 * An environment of one turn. Its reward is the mean reward of a text over tasks of a single-agent environment, given
 * in every turn of each. A climb here cannot use the secret of a single task.
 */
export async function averaged<Task>(
  environment: EnvironmentDefinition<Task>,
  tasks: readonly Task[],
): Promise<EnvironmentDefinition<string>> {
  const instance = await environment.create();
  return defineEnvironment<string>({
    id: `averaged-${environment.spec.id}`,
    tasks: ["all"],
    rewardRange: environment.spec.rewardRange,
    reset: () => "Answer.",
    step: async ({ text }) => {
      let sum = 0;
      for (const task of tasks) sum += await play(instance, task, text);
      return { reward: sum / tasks.length };
    },
  });
}

async function play<Task>(instance: Environment<Task>, task: Task, text: string): Promise<number> {
  const message = textMessage("assistant", text);
  let total = 0;
  let observations = await instance.reset({ task, seed: 0 });
  while (observations.agent !== undefined) {
    const result = await instance.step({ agent: { message, finish: "stop" } });
    const reward = result.agents.agent?.reward;
    if (reward?.status === "scored") total += reward.value;
    observations = result.observations;
  }
  return total;
}
