import { afterAll, describe, test } from "vitest";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { type BackendSubject, backendConformance } from "../../trainers/testing/index.ts";

/** Declares the tests of the backend suite. Call it at the top level of a test file. */
export function describeBackend(name: string, options: Omit<BackendSubject, "backend">): void {
  describe(`${name} conforms`, () => {
    let shared: TrainingBackend | Promise<TrainingBackend> | undefined;
    const backend = () => (shared ??= options.create());
    afterAll(async () => (await shared)?.close());
    for (const { name: requirement, run } of backendConformance({ ...options, backend })) test(requirement, run);
  });
}
