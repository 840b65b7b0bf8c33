import type { z } from "zod";
import { type ConfigProblem, configError } from "./config-problem.ts";
import { schemaProblems } from "./schema-problem.ts";
import { assertStrict } from "./schema-walk.ts";

/** The place of a problem in the source of a config. */
export type ConfigPlace = Pick<ConfigProblem, "location" | "line" | "column">;

/**
 * Checks a config against a strict schema and fills in defaults. This is the only place where a schema reads a config.
 * Throws `config.invalid` with all problems, each with its place.
 */
export function parseConfig<Schema extends z.ZodType>(options: {
  /** The schema. All objects in it must be strict, so that a mistyped key is an error. */
  readonly schema: Schema;
  readonly value: unknown;
  /** The name of the config, for the message. */
  readonly name: string;
  /** Returns the place of a key. By default, the name of the config. */
  readonly placeOf?: (path: readonly string[]) => ConfigPlace;
}): z.output<Schema> {
  const { schema, value, name, placeOf = () => ({ location: name }) } = options;
  assertStrict(schema);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw configError(
    name,
    schemaProblems(schema, value, result.error.issues).map(({ path, message, hint }) => {
      const keys = path.map(String);
      return { ...placeOf(keys), path: keys.join("."), message, ...(hint === undefined ? {} : { hint }) };
    }),
  );
}
