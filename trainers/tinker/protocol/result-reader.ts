import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { invalidBody } from "./bytes.ts";

/** Reads the result of a request from either encoding. */
export interface ResultReader<T> {
  /** Reads JSON. Throws `ZodError` or `server.invalid-request` for another document. */
  readonly json: (value: unknown) => T;
  /** Reads protobuf. Throws `server.invalid-request`. Undefined for results that exist only as JSON. */
  readonly bytes?: (bytes: Uint8Array) => T;
}

/** The kinds of requests whose results say their kind. */
const kinds: readonly unknown[] = [
  "create_model",
  "unload_model",
  "optim_step",
  "save_weights",
  "load_weights",
  "save_weights_for_sampler",
];

/** Returns the reader of a result that exists only as JSON. It refuses results of other kinds of requests. */
export function jsonReader<T>(kind: string, schema: z.ZodType<T>): ResultReader<T> {
  return {
    json: (value) => {
      const result = Object(value) as { readonly type?: unknown };
      const isOther = kinds.includes(result.type) && result.type !== kind;
      if (isOther || "loss_fn_outputs" in result || "sequences" in result) {
        throw invalidBody(`it is the result of another request than ${kind}`);
      }
      return schema.parse(value);
    },
  };
}

/** Returns why a reader refused a result. Undefined for any other error. */
export function refusalOf(error: unknown): string | undefined {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    return `${issue?.path.join(".")}: ${issue?.message}`;
  }
  return LyceumError.isInstance(error) && error.code === "server.invalid-request" ? error.message : undefined;
}
