import type { StepEvent, TrainingEvaluationEvent } from "../../src/contract/training-event.ts";

/** Returns the metrics of an event with their names in charts. Those of an evaluation begin with `evaluation/`. */
export function eventMetrics(event: StepEvent | TrainingEvaluationEvent): Readonly<Record<string, number>> {
  if (event.type === "step") return event.metrics;
  return Object.fromEntries(Object.entries(event.metrics).map(([name, value]) => [`evaluation/${name}`, value]));
}
