import { afterAll, describe, test } from "vitest";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { type BackendSubject, backendConformance } from "../../trainers/testing/index.ts";

type Case = ReturnType<typeof backendConformance>[number];

/** Declares the tests of the backend suite, or of a `share` of them. Call it at the top level of a test file. */
export function describeBackend(
  name: string,
  {
    share = (cases) => cases,
    ...options
  }: Omit<BackendSubject, "backend"> & { readonly share?: (cases: Case[]) => Case[] },
): void {
  describe(`${name} conforms`, () => {
    let shared: TrainingBackend | Promise<TrainingBackend> | undefined;
    const backend = () => (shared ??= options.create());
    afterAll(async () => (await shared)?.close());
    for (const { name: requirement, run } of share(backendConformance({ ...options, backend }))) test(requirement, run);
  });
}
