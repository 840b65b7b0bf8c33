import { createSandbox } from "../../../sandbox/create-sandbox.ts";
import type { Language } from "../../../sandbox/execution.ts";
import { deduplicated } from "../../../sandbox/grading/deduplicated.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { type SharedResource, sharedResource } from "../../../src/core/environment/shared-resource.ts";
import type { CodeTurnOptions } from "./turn-options.ts";

/**
 * Returns the `open` function of an environment whose instances share one sandbox. The sandbox stays open as long as an
 * instance uses it. Identical executions run once. Rejects with the errors of `createSandbox`.
 */
export function sandboxOpener(options: {
  readonly language: Language;
  readonly sandbox: CodeTurnOptions["sandbox"] | "isolated-vm";
}): () => Promise<SharedResource<Sandbox>> {
  const { language, sandbox: backend } = options;
  return sharedResource(async () => deduplicated(await createSandbox({ language, backend })));
}
