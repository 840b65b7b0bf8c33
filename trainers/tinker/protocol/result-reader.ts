import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";

/** Reads the result of a request from either encoding. */
export interface ResultReader<T> {
  /** Reads JSON. Throws `ZodError` or `server.invalid-request` for another document. */
  readonly json: (value: unknown) => T;
  /** Reads protobuf. Throws `server.invalid-request`. Undefined for results that exist only as JSON. */
  readonly bytes?: (bytes: Uint8Array) => T;
}

/** Returns the reader of a result that exists only as JSON. */
export function jsonReader<T>(schema: z.ZodType<T>): ResultReader<T> {
  return { json: (value) => schema.parse(value) };
}

/** Returns why a reader refused a result. Undefined for any other error. */
export function refusalOf(error: unknown): string | undefined {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return `${issue?.path.join(".")}: ${issue?.message}`;
  }
  return LyceumError.isInstance(error) && error.code === "server.invalid-request" ? error.message : undefined;
}
