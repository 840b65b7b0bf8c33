import type { EvaluationEvent, StepEvent } from "../../contract/training-event.ts";

/** The metrics of an event as charts name them: those of an evaluation begin with `evaluation/`. */
export function eventMetrics(event: StepEvent | EvaluationEvent): Readonly<Record<string, number>> {
  if (event.type === "step") return event.metrics;
  return Object.fromEntries(Object.entries(event.metrics).map(([name, value]) => [`evaluation/${name}`, value]));
}
