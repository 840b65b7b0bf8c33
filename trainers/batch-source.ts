import { type Batch, collectBatch } from "./collect-batch.ts";
import { openActors } from "./open-policy.ts";
import { playedUnit } from "./play-tasks.ts";
import type { TrainingRun } from "./training-run.ts";

/** The batch of a step, and what a checkpoint after that step must know of it. */
export interface PlayedBatch extends Batch {
  readonly taskCursor: number;
  readonly traceLength: number | undefined;
  /** Under a curriculum, how many tasks it was drawn from. */
  readonly pool: number | undefined;
  readonly rolloutMs: number;
  /** Training steps between the weights that played it and those that learn from it. */
  readonly staleness: number;
}

/** Gives a run's batches, step by step. Closing it stops what is being played ahead. */
export interface BatchSource extends AsyncDisposable {
  next(step: number): Promise<PlayedBatch>;
}

/**
 * The batches of a run. With `rollout.maxStaleness` 1, the next batch is already being played while a step learns: by
 * the weights as they were before it, so that it is one step old when its turn comes.
 */
export function openBatches(run: TrainingRun): BatchSource {
  const { steps } = run.config.training;
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
        // What goes wrong is told at the step that it is for.
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

/** Takes the weights as they are now, and begins to play. */
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
