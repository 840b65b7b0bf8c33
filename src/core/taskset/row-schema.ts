import { LyceumError } from "../../contract/errors/index.ts";

/** A schema for rows: any Standard Schema 1 (https://standardschema.dev), such as those of zod, valibot and arktype. */
export interface RowSchema<Row> {
  readonly "~standard": {
    readonly version: 1;
    readonly validate: (value: unknown) => RowResult<Row> | Promise<RowResult<Row>>;
  };
}

/** The result of the validation of a row. */
export type RowResult<Row> =
  | { readonly value: Row; readonly issues?: undefined }
  | { readonly issues: readonly RowIssue[] };

/** One problem of a row. */
export interface RowIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * Returns the row as parsed by the schema. Throws `data.malformed` with `place` (such as `train.jsonl:12`) if the row
 * is invalid.
 */
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
    hint: "Each row must have the fields that the schema requires.",
    data: { place, problems },
  });
}
