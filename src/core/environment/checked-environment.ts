import type {
  Environment,
  EnvironmentDefinition,
  EnvironmentFactory,
  TaskLoading,
} from "../../contract/environment.ts";
import { checkVersion } from "../../contract/specification-version.ts";
import type { Taskset } from "../../contract/taskset.ts";
import { checkJudge } from "../judge/with-judge.ts";
import { startCall } from "../rollout/running-call.ts";

/** Creates an instance. Throws `config.invalid` if it implements another version of the interface. */
export async function createInstance<Task>(
  factory: EnvironmentFactory<Task>,
  options?: Parameters<EnvironmentFactory<Task>["create"]>[0],
): Promise<Environment<Task>> {
  const instance = await factory.create(options);
  checkVersion(`An instance of environment "${factory.spec.id}"`, instance);
  return instance;
}

/**
 * Returns the tasks of a split. Throws `config.invalid` if they implement another version of the interface, and if the
 * environment needs a judge model that is not opened, so that a run ends before it begins.
 */
export async function splitTasks<Task>(
  environment: Pick<EnvironmentDefinition<Task>, "spec" | "tasks" | "judge">,
  split: string,
  options: TaskLoading = {},
): Promise<Taskset<Task>> {
  checkJudge(environment);
  const loading = { subject: `environment "${environment.spec.id}"`, call: "loading tasks" };
  const taskset = await startCall(loading, async () => environment.tasks(split, options));
  checkVersion(`Taskset "${taskset.name}" of environment "${environment.spec.id}"`, taskset);
  return taskset;
}
