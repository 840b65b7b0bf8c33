import type { WarningEvent } from "../../contract/training-event.ts";

/** Warnings that say the same, but for numbers. */
export interface WarningGroup {
  /** What the last of them says. */
  readonly message: string;
  readonly count: number;
  readonly firstStep: number;
  readonly lastStep: number;
}

/** What a warning has in common with those that differ from it in numbers only. */
export function warningKind({ message }: WarningEvent): string {
  return message.replace(/\d+/g, "0");
}

/** Warnings by kind, in the order in which each kind first came. */
export function groupWarnings(warnings: readonly WarningEvent[]): WarningGroup[] {
  return [...Map.groupBy(warnings, warningKind).values()].map((alike) => ({
    message: alike.at(-1)!.message,
    count: alike.length,
    firstStep: alike[0]!.step,
    lastStep: alike.at(-1)!.step,
  }));
}
