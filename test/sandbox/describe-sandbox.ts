import { afterAll, describe, test } from "vitest";
import type { Language } from "../../sandbox/execution.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { sandboxConformance } from "../../sandbox/testing/index.ts";

/** Declares the tests of the sandbox suite for a kind of sandbox. `missing` is why this machine does not have it. */
export function describeSandbox(options: {
  readonly name: string;
  readonly open: (options: { readonly workers: number }) => Promise<Sandbox> | Sandbox;
  readonly languages: readonly Language[];
  readonly missing?: string | undefined;
}): void {
  const { name, open, languages, missing } = options;
  const title = missing === undefined ? `${name} conforms` : `${name} conforms (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(title, () => {
    let shared: Sandbox | Promise<Sandbox> | undefined;
    const sandbox = () => (shared ??= open({ workers: 2 }));
    afterAll(async () => (await shared)?.[Symbol.asyncDispose]());
    const cases = sandboxConformance({ sandbox, open: () => open({ workers: 1 }), languages });
    for (const { name: requirement, run } of cases) test(requirement, run);
  });
}
