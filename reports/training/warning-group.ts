import type { TrainingWarningEvent } from "../../src/contract/training-event.ts";

/** Warnings with equal texts, except for numbers. */
export interface WarningGroup {
  /** The text of the last one. */
  readonly message: string;
  /** The health check that found them. */
  readonly check?: string;
  readonly count: number;
  readonly firstStep: number;
  readonly lastStep: number;
}

/** Returns a key that is equal for warnings that differ only in numbers. */
export function warningKind({ message }: TrainingWarningEvent): string {
  return message.replace(/\d+/g, "0");
}

/** Groups warnings by kind, in the order of the first warning of each kind. */
export function groupWarnings(warnings: readonly TrainingWarningEvent[]): WarningGroup[] {
  return [...Map.groupBy(warnings, warningKind).values()].map((alike) => ({
    message: alike.at(-1)!.message,
    ...(alike[0]!.check === undefined ? {} : { check: alike[0]!.check }),
    count: alike.length,
    firstStep: alike[0]!.step,
    lastStep: alike.at(-1)!.step,
  }));
}
