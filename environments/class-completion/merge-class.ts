import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** A class that is put together from replies. */
export interface MergedClass {
  /** The whole source; methods that nobody wrote raise `NotImplementedError`. */
  readonly source: string;
  /** For each method that was to be written, why it is missing; null where it is there. */
  readonly methods: Readonly<Record<string, string | null>>;
  /** In the order of the replies: why one cannot be read, at which line, and methods of others that it has. */
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

/** Characters of a reply that are read; a longer one is refused. */
const longest = 100_001;

/**
 * Puts what agents wrote into a class, on the syntax tree: Python's own `ast` reads it in the sandbox, where nothing of
 * it is run. `owners` has, for each method that is to be written, the place of the reply that is to hold it. Undefined
 * where a reply kept Python from coming to an end. Rejects with `sandbox.unavailable` where the sandbox itself fails,
 * and with the signal's reason.
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
    ...(signal === undefined ? {} : { signal }),
  });
  signal?.throwIfAborted();
  const [observed] = result.cases;
  if (typeof observed?.value === "string") return schema.parse(JSON.parse(observed.value));
  if (result.status !== "infra_error" && result.status !== "aborted") return undefined;
  throw new LyceumError({
    code: "sandbox.unavailable",
    message: `The sandbox could not put a class together: ${result.error?.message ?? result.status}.`,
    hint: "See why the sandbox fails; another one may be chosen by the option sandbox.",
  });
}
