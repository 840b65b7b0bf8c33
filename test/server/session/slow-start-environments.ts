import type { OpenedEnvironments } from "../../../server/session/environment-module.ts";
import { openEnvironments as openFaults } from "./runner-environments.ts";

/** Opens the environments of the faults, except at the second start, which does not end. Counts the starts. */
export async function openEnvironments(starts: Int32Array): Promise<OpenedEnvironments> {
  if (Atomics.add(starts, 0, 1) === 1) await new Promise(() => {});
  return openFaults();
}
