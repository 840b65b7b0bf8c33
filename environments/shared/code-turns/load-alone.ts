import type { CodeError, Language } from "../../../sandbox/execution.ts";
import type { Limits } from "../../../sandbox/limits.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";

const extensions = { python: "py", javascript: "js", typescript: "ts" } as const;

/**
 * Loads one agent's program alone, without calling anything. Resolves with `loads: true` if it defines `name`, with the
 * error if it does not parse, raises or lacks the name, and with undefined if the sandbox failed or a limit ended it.
 * Rejects with the signal's reason.
 */
export async function loadAlone(options: {
  readonly sandbox: Sandbox;
  readonly language: Language;
  readonly source: string;
  /** The function or class that the agent must define. */
  readonly name: string;
  readonly limits?: Partial<Limits>;
  readonly seed: number;
  readonly signal?: AbortSignal;
}): Promise<{ readonly loads: true } | { readonly loads: false; readonly error: CodeError } | undefined> {
  const { sandbox, language, source, name, signal, ...rest } = options;
  const entry = `solution.${extensions[language]}`;
  const { status, error } = await sandbox.execute({
    language,
    files: { [entry]: source },
    entry,
    task: { kind: "calls", function: name, cases: [] },
    ...rest,
    signal,
  });
  signal?.throwIfAborted();
  if (status === "ok") return { loads: true };
  return status === "load_error" && error !== undefined ? { loads: false, error } : undefined;
}
