import type { ModelSource, TrainingBackend } from "../../backend/training-backend.ts";

/** The options of `TinkerService`. */
export interface TinkerServiceOptions {
  readonly backend: TrainingBackend;
  /** The base model of all models. */
  readonly source: ModelSource & { readonly type: "pretrained" };
  /** The names by which clients may call the base model. */
  readonly names: readonly string[];
  /** The folder of saved weights. */
  readonly folder: string;
  /** The maximum number of open models. 16 by default. */
  readonly maxModels?: number;
  /** The maximum number of sessions. 4,096 by default. */
  readonly maxSessions?: number;
  /** The maximum number of samplers of saved weights of each model. The oldest is closed. 32 by default. */
  readonly maxSamplers?: number;
  /** The time in milliseconds for which a result is kept. One hour by default. */
  readonly resultMs?: number;
  /** The maximum size of all results in bytes. The oldest ones expire earlier. 1 GiB by default. */
  readonly maxResultBytes?: number;
  /** The time in milliseconds without a request after which a session ends. 10 minutes by default. */
  readonly sessionMs?: number;
  /** The time in milliseconds for which a recorded completion can be trained on after its last use. One day by default. */
  readonly recordMs?: number;
  /** The maximum size of all recorded completions in bytes. Those used longest ago are dropped. 1 GiB by default. */
  readonly maxRecordedBytes?: number;
  /** The time in milliseconds for which a request waits for one with a smaller sequence id. 10 seconds by default. */
  readonly gapMs?: number;
}

/** The defaults of {@link TinkerServiceOptions}. */
export const serviceDefaults: Omit<Required<TinkerServiceOptions>, "backend" | "source" | "names" | "folder"> = {
  maxModels: 16,
  maxSessions: 4096,
  maxSamplers: 32,
  resultMs: 3_600_000,
  maxResultBytes: 2 ** 30,
  sessionMs: 600_000,
  recordMs: 86_400_000,
  maxRecordedBytes: 2 ** 30,
  gapMs: 10_000,
};
