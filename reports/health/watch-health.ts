import type { TrainingEvent } from "../../src/contract/training-event.ts";
import { type HealthSettings, healthSettingsSchema } from "./health-settings.ts";
import { type HealthState, initialHealthState } from "./health-state.ts";
import { updateHealth } from "./health-warnings.ts";

/**
 * Passes events through and adds a warning after the step or evaluation in which a trouble begins or ends. `history`
 * returns the earlier events of a resumed run. They restore the state of the checks without new warnings. Without
 * `history` the checks start from the beginning. If it rejects, the iteration rejects too.
 */
export async function* watchHealth(
  events: AsyncIterable<TrainingEvent>,
  options: {
    /** Changes to {@link defaultHealthSettings}. */
    readonly settings?: Partial<HealthSettings>;
    readonly history?: () => Promise<readonly TrainingEvent[]>;
  } = {},
): AsyncGenerator<TrainingEvent, void, undefined> {
  yield* watchRun(events, { ...options, settings: healthSettingsSchema.parse(options.settings ?? {}) });
}

/** Like {@link watchHealth}, with the complete settings of a checked config. */
export async function* watchRun(
  events: AsyncIterable<TrainingEvent>,
  options: {
    readonly settings: HealthSettings;
    readonly history?: () => Promise<readonly TrainingEvent[]>;
  },
): AsyncGenerator<TrainingEvent, void, undefined> {
  const { settings } = options;
  let health = initialHealthState;
  for await (const event of events) {
    yield event;
    if (!settings.enabled) continue;
    if (event.type === "run-start") {
      const past = event.resumedFrom === 0 ? [] : await options.history?.().catch(() => []);
      health = remember(past ?? [], event.resumedFrom, settings);
    } else if (event.type === "step" || event.type === "evaluation") {
      const { state, warnings } = updateHealth(health, event, settings);
      health = state;
      yield* warnings;
    }
  }
}

/** Returns the state after the events up to a step. */
function remember(events: readonly TrainingEvent[], upTo: number, settings: HealthSettings): HealthState {
  let health = initialHealthState;
  for (const event of events) {
    if ((event.type !== "step" && event.type !== "evaluation") || event.step > upTo) continue;
    health = updateHealth(health, event, settings).state;
  }
  return health;
}
