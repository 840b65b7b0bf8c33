import { InvalidArgumentError } from "commander";

/** Reads a whole number of at least 0. */
export function wholeNumber(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new InvalidArgumentError("Expected a whole number of at least 0.");
}

/** Reads a whole number above 0. */
export function positive(value: string): number {
  if (wholeNumber(value) > 0) return Number(value);
  throw new InvalidArgumentError("Expected a whole number above 0.");
}

/** Reads a number. */
export function finite(value: string): number {
  if (value.trim() !== "" && Number.isFinite(Number(value))) return Number(value);
  throw new InvalidArgumentError("Expected a number.");
}

/** Reads the number of a port. */
export function port(value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) > 0 && Number(value) < 65_536) return Number(value);
  throw new InvalidArgumentError("Expected a port from 1 to 65535.");
}

/** Adds a value to those of a repeatable option. Without a default, there are none before the first. */
export function append(value: string, values: readonly string[] | undefined): string[] {
  return [...(values ?? []), value];
}
