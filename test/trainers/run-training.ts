import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TrainingEvent } from "../../src/contract/training-event.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import type { TrainOptions } from "../../trainers/run/training-run.ts";
import { train } from "../../trainers/training/train.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { letterEnvironment } from "./letter-environment.ts";

/** A config that trains the bigram backend on letters in well under a second. */
export function letterConfig(changes: Partial<TrainingConfigInput> = {}): TrainingConfigInput {
  return {
    algorithm: { id: "grpo", groupSize: 8 },
    model: { scratch: {} },
    sampling: { maxTokens: 1 },
    ...changes,
    // In a table, almost every logit has a gradient near 0. Adam must not scale it up to a whole step.
    training: { steps: 6, batchSize: 8, learningRate: 0.6, epsilon: 1e-3, ...changes.training },
  };
}

/** The events of a run, and the error that it threw at its end. */
export interface RunRecord {
  readonly events: readonly TrainingEvent[];
  readonly error: unknown;
}

/** Runs `train` to its end. Uses the bigram backend and the letter environment by default. */
export async function runTraining(
  options: Partial<TrainOptions> & {
    readonly output: string;
    readonly config: TrainingConfigInput;
    readonly onEvent?: (event: TrainingEvent) => void;
  },
): Promise<RunRecord> {
  const events: TrainingEvent[] = [];
  try {
    const run = train({ environment: letterEnvironment(), backend: createBigramBackend(), ...options });
    for await (const event of run) {
      events.push(event);
      options.onEvent?.(event);
    }
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

/** Returns the events of one type. */
export function eventsOf<Type extends TrainingEvent["type"]>(
  { events }: RunRecord,
  type: Type,
): Extract<TrainingEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<TrainingEvent, { type: Type }> => event.type === type);
}

/** Returns the last event, which must be `run-end`. */
export function runEnd(record: RunRecord): Extract<TrainingEvent, { type: "run-end" }> {
  const last = record.events.at(-1);
  if (last?.type !== "run-end") throw record.error ?? new Error(`The last event is ${last?.type}.`);
  return last;
}

/** Returns the weights, moments and step of a run's checkpoint, as the bytes on disk. */
export function checkpointState(output: string, step: number): Promise<string> {
  const name = `step-${String(step).padStart(6, "0")}`;
  return readFile(join(output, "checkpoints", name, "model", "bigram.json"), "utf8");
}
