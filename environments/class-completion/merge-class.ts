import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** A class that is merged from replies. */
export interface MergedClass {
  /** The complete source code. Methods that no agent wrote raise `NotImplementedError`. */
  readonly source: string;
  /** For each requested method, the reason why it is missing, or null if it is present. */
  readonly methods: Readonly<Record<string, string | null>>;
  /** For each reply: the parse error and its line, if any, and the methods of other agents that the reply contains. */
  readonly replies: readonly {
    readonly error: string | null;
    readonly line: number | null;
    readonly overlap: readonly string[];
  }[];
}

const schema = z.object({
  source: z.string(),
  methods: z.record(z.string(), z.string().nullable()),
  replies: z.array(
    z.object({ error: z.string().nullable(), line: z.number().nullable(), overlap: z.array(z.string()) }),
  ),
});

/** The number of characters that are read of a reply. A longer reply is refused. */
const longest = 100_001;

/**
 * Merges the agents' replies into a class on the syntax tree. Python's own `ast` parses them in the sandbox, which does
 * not run them. `owners` maps each requested method to the index of the reply that should contain it. Returns undefined
 * if Python did not finish because of a reply. Rejects with `sandbox.unavailable` if the sandbox fails, and with the
 * signal's reason.
 */
export async function mergeClass(options: {
  readonly sandbox: Sandbox;
  readonly skeleton: string;
  readonly className: string;
  readonly owners: Readonly<Record<string, number>>;
  readonly replies: readonly string[];
  readonly signal?: AbortSignal;
}): Promise<MergedClass | undefined> {
  const { sandbox, skeleton, className, owners, signal } = options;
  const replies = options.replies.map((reply) => reply.slice(0, longest));
  const result = await sandbox.execute({
    language: "python",
    files: { "merge.py": await readFile(new URL("./merge.py", import.meta.url), "utf8") },
    entry: "merge.py",
    task: {
      kind: "calls",
      function: "merge_json",
      cases: [{ args: [JSON.stringify({ skeleton, class_name: className, owners, replies })] }],
    },
    limits: { cpuMs: 20_000, wallMs: 60_000 },
    signal,
  });
  signal?.throwIfAborted();
  const [observed] = result.cases;
  if (typeof observed?.value === "string") return schema.parse(JSON.parse(observed.value));
  if (result.status !== "infra_error" && result.status !== "aborted") return undefined;
  throw new LyceumError({
    code: "sandbox.unavailable",
    message: `The sandbox could not merge a class: ${result.error?.message ?? result.status}.`,
    hint: "Fix the sandbox, or choose another one with the option sandbox.",
  });
}
