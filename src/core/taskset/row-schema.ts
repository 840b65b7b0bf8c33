import { LyceumError } from "../../contract/errors/index.ts";

/**
 * A validator of rows: any schema that follows Standard Schema 1 (https://standardschema.dev), so zod, valibot and
 * arktype alike.
 */
export interface RowSchema<Row> {
  readonly "~standard": {
    readonly version: 1;
    readonly validate: (value: unknown) => RowResult<Row> | Promise<RowResult<Row>>;
  };
}

/** What a schema says of a row. */
export type RowResult<Row> =
  | { readonly value: Row; readonly issues?: undefined }
  | { readonly issues: readonly RowIssue[] };

/** One thing wrong with a row. */
export interface RowIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The row as the schema returns it; `data.malformed` naming `place` (such as `train.jsonl:12`) when it refuses. */
export async function validateRow<Row>(schema: RowSchema<Row>, row: unknown, place: string): Promise<Row> {
  const result = await schema["~standard"].validate(row);
  if (result.issues === undefined) return result.value;
  const problems = result.issues.map(({ message, path = [] }) => {
    const at = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return at === "" ? message : `${at}: ${message}`;
  });
  throw new LyceumError({
    code: "data.malformed",
    message: `${place}: ${problems.join("; ")}`,
    hint: "Each row must have the fields that the schema asks for.",
    data: { place, problems },
  });
}
