import type { CodeError } from "../../sandbox/execution.ts";
import type { Limits } from "../../sandbox/limits.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { loadAlone } from "../shared/code-turns/load-alone.ts";
import { mergeClass } from "./merge-class.ts";

/** Whether a class loads with the methods of one agent alone. The line in the error does not refer to a reply. */
export type AgentLoads = { readonly loads: true } | { readonly loads: false; readonly error: CodeError };

/**
 * Finds the replies that keep a class from loading. If the whole class does not load, the class is merged and loaded
 * once for each reply alone. A reply that reaches a time limit counts as loading. Rejects with the errors of
 * `mergeClass`.
 */
export async function loadEachAgent(options: {
  readonly sandbox: Sandbox;
  readonly skeleton: string;
  readonly className: string;
  readonly owners: Readonly<Record<string, number>>;
  readonly replies: readonly string[];
  /** The load error of the whole class, if any. */
  readonly loadError: CodeError | undefined;
  readonly limits: Partial<Limits> | undefined;
  readonly seed: number;
  readonly signal?: AbortSignal;
}): Promise<readonly AgentLoads[]> {
  const { replies, loadError, limits, seed, ...rest } = options;
  const { sandbox, className, signal } = rest;
  if (loadError === undefined) return replies.map(() => ({ loads: true }));
  if (replies.length === 1) return [failure(loadError)];
  return await Promise.all(
    replies.map(async (_, place): Promise<AgentLoads> => {
      const merged = await mergeClass({ ...rest, replies: replies.map((text, i) => (i === place ? text : "")) });
      if (merged === undefined) return { loads: true };
      const alone = await loadAlone({
        sandbox,
        language: "python",
        source: merged.source,
        name: className,
        seed,
        limits,
        signal,
      });
      return alone === undefined || alone.loads ? { loads: true } : failure(alone.error);
    }),
  );
}

function failure({ type, message }: CodeError): AgentLoads {
  return { loads: false, error: { type, message } };
}
