import { LyceumError } from "../../contract/errors/index.ts";
import { EventQueue } from "./event-queue.ts";
import type { RolloutEvent } from "./rollout-event.ts";
import { checkCount, maxConcurrency, poolOf, type RolloutOptions, runSettings } from "./rollout-options.ts";
import { RolloutRun } from "./rollout-run.ts";

/**
 * Plays tasks in groups with many concurrent episodes, and yields events. Starts when the first event is requested. If
 * the consumer leaves the iteration, all episodes stop. A slow consumer slows the rollout down.
 *
 * Errors in an episode are recorded in the episode. The iteration throws `aborted` after the signal aborted, after it
 * has yielded the interrupted episodes with status `aborted`. It passes on the errors of the taskset and the trace.
 * Invalid options throw immediately.
 *
 * @example
 * import { rollout, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const tasks = await environment.tasks("test[:3]");
 * const ended: string[] = [];
 * for await (const event of rollout({ environment, tasks, policies: scriptedPolicy(["12"]), seed: 1 })) {
 *   if (event.type === "episode-end") ended.push(event.episode.status);
 * }
 * ended; // => ["completed", "completed", "completed"]
 */
export function rollout<Task>(options: RolloutOptions<Task>): AsyncGenerator<RolloutEvent, void, undefined> {
  const concurrency = checkCount("concurrency", options.concurrency ?? 64, maxConcurrency);
  const groupSize = checkCount("groupSize", options.groupSize ?? 1, maxConcurrency);
  const queue = new EventQueue<RolloutEvent>(4 * concurrency);
  const { pool, owned } = poolOf(options.environment, {
    onCloseError: (error) => queue.push({ type: "warning", error }),
  });
  const { terminationThreshold, partners = [] } = options;
  if (Number.isNaN(terminationThreshold)) throw noThreshold();
  const settings = {
    ...runSettings(options, pool),
    ...(terminationThreshold === undefined ? {} : { terminationThreshold, partners }),
  };
  return events({ ...options, concurrency, groupSize, settings, queue, closePool: owned });
}

function noThreshold(): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: "The rollout's terminationThreshold is not a number.",
    hint: "Pass a number on the scale of the environment's rewards, or omit it.",
  });
}

async function* events<Task>(
  options: ConstructorParameters<typeof RolloutRun<Task>>[0],
): AsyncGenerator<RolloutEvent, void, undefined> {
  const run = new RolloutRun(options);
  const ended = run.play();
  try {
    yield* options.queue;
  } finally {
    run.stop();
    options.queue.abandon();
    await ended;
  }
}
