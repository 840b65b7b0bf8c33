import type { z } from "zod";
import { configError } from "../../src/core/config/config-problem.ts";
import { schemaProblems } from "../../src/core/config/schema-problem.ts";

/** Checks a value against a strict schema and fills in defaults. Throws `config.invalid` with all problems. */
export function parseConfig<Schema extends z.ZodType>(options: {
  readonly schema: Schema;
  readonly value: unknown;
  /** The name of the value, for the message. */
  readonly name: string;
}): z.output<Schema> {
  const { schema, value, name } = options;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw configError(
    name,
    schemaProblems(schema, value, result.error.issues).map((problem) => ({
      location: name,
      path: problem.path.map(String).join("."),
      message: problem.message,
      ...(problem.hint === undefined ? {} : { hint: problem.hint }),
    })),
  );
}
