import { LyceumError } from "../../contract/errors/index.ts";
import { EventQueue } from "./event-queue.ts";
import type { RolloutEvent } from "./rollout-event.ts";
import { checkCount, mostAtOnce, poolOf, type RolloutOptions, runSettings } from "./rollout-options.ts";
import { RolloutRun } from "./rollout-run.ts";

/**
 * Plays tasks in groups, many episodes at once, and tells of it in events. Nothing starts before the first event is
 * asked for; leaving the iteration stops everything. A slow consumer slows the rollout down.
 *
 * What goes wrong in an episode is in the episode. The iteration itself throws `aborted` after the signal aborted (the
 * episodes that it cut short come first, with status `aborted`), and what a broken taskset or trace throws. Options
 * that cannot work throw at once.
 */
export function rollout<Task>(options: RolloutOptions<Task>): AsyncGenerator<RolloutEvent, void, undefined> {
  const concurrency = checkCount("concurrency", options.concurrency ?? 64, mostAtOnce);
  const groupSize = checkCount("groupSize", options.groupSize ?? 1, mostAtOnce);
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
    message: "The rollout's terminationThreshold is no number.",
    hint: "Give a number on the scale of the environment's rewards, or leave it out.",
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
