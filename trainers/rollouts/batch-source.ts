import { openActors } from "../models/open-policy.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { type Batch, collectBatch } from "./collect-batch.ts";
import { playedUnit } from "./play-tasks.ts";

/** The batch of a step, with the values that a checkpoint after the step records. */
export interface PlayedBatch extends Batch {
  readonly taskCursor: number;
  readonly traceLength: number | undefined;
  /** With a curriculum: the number of tasks from which the batch was drawn. */
  readonly pool: number | undefined;
  readonly rolloutMs: number;
  /** The number of training steps between the weights that sampled the batch and the weights that learn from it. */
  readonly staleness: number;
}

/** Returns a run's batches, step by step. Closing it stops a batch that is being played ahead. */
export interface BatchSource extends AsyncDisposable {
  next(step: number): Promise<PlayedBatch>;
}

/**
 * Opens the batches of a run. With `rollout.maxStaleness` 1, the next batch is played while a step learns. It is
 * sampled by the weights before that step, so it is one step old when it is used.
 */
export function openBatches(run: TrainingRun): BatchSource {
  const { steps } = run;
  const ahead = run.config.rollout.maxStaleness > 0;
  const stop = new AbortController();
  const signal = run.signal === undefined ? stop.signal : AbortSignal.any([run.signal, stop.signal]);
  const cancellable = ahead ? { ...run, signal } : run;
  let started: Promise<PlayedBatch> | undefined;
  return {
    next: async (step) => {
      const batch = await (started ?? (await startBatch(cancellable, { step, staleness: 0 })).played);
      started = undefined;
      if (ahead && step < steps) {
        started = (await startBatch(cancellable, { step: step + 1, staleness: 1 })).played;
        // The step that uses the batch reports the error.
        started.catch(() => {});
      }
      return batch;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await started?.catch(() => {});
    },
  };
}

/** Takes a snapshot of the current weights and starts to play. */
async function startBatch(
  run: TrainingRun,
  { step, staleness }: { readonly step: number; readonly staleness: number },
): Promise<{ readonly played: Promise<PlayedBatch> }> {
  const { pool } = run.tasks;
  const started = performance.now();
  await using resources = new AsyncDisposableStack();
  const meter = resources.use(run.activity.begin({ activity: "playing", step, unit: playedUnit(run) }));
  const actors = resources.use(await openActors(run, { onTokens: meter.addTokens }));
  const owned = resources.move();
  const play = async (): Promise<PlayedBatch> => {
    await using _ = owned;
    const batch = await collectBatch(run, { policies: actors.policies, step, meter });
    const traceLength = await run.trace?.flush();
    const rolloutMs = performance.now() - started;
    return { ...batch, taskCursor: run.tasks.cursor, traceLength, pool, rolloutMs, staleness };
  };
  return { played: play() };
}
