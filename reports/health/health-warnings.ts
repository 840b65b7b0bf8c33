import type { StepEvent, TrainingEvaluationEvent, TrainingWarningEvent } from "../../src/contract/training-event.ts";
import { readHealth } from "./health-checks.ts";
import type { HealthSettings } from "./health-settings.ts";
import { type HealthState, rememberEvaluation, rememberStep } from "./health-state.ts";

/**
 * A problem has cleared if its level is below this. The gap to 1 prevents repeated warnings for values near the limit.
 */
const overBelow = 0.8;

/**
 * Returns the state after a step or an evaluation, and a warning for each trouble that begins or ends. A pure function.
 */
export function updateHealth(
  before: HealthState,
  event: StepEvent | TrainingEvaluationEvent,
  settings: HealthSettings,
): { readonly state: HealthState; readonly warnings: readonly TrainingWarningEvent[] } {
  const remembered =
    event.type === "step" ? rememberStep(before, event, settings) : rememberEvaluation(before, event, settings);
  const troubles = new Set(before.troubles);
  const warnings: TrainingWarningEvent[] = [];
  for (const { check, subject, level, message } of readHealth(remembered, settings)) {
    const trouble = subject === undefined ? check : `${check} ${subject}`;
    if (level >= 1 && !troubles.has(trouble)) {
      troubles.add(trouble);
      warnings.push({ type: "warning", step: event.step, message, check, subject });
    } else if (level < overBelow && troubles.delete(trouble)) {
      warnings.push({ type: "warning", step: event.step, message: overText(trouble), check, subject, over: true });
    }
  }
  return { state: { ...remembered, troubles: [...troubles] }, warnings };
}

function overText(trouble: string): string {
  return `${trouble} is over: its metric is clear of the threshold again.`;
}
