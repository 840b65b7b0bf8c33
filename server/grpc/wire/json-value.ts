import { fromJson, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { toErrorData } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";
import { invalidRequest } from "./invalid-request.ts";

/** Returns free JSON as a `google.protobuf.Value`. */
export function toValue(json: Json): Value {
  return fromJson(ValueSchema, json as never);
}

/**
 * Returns the JSON of a `google.protobuf.Value`. An absent value is null. Throws `server.invalid-request` for a value
 * that JSON does not have, such as NaN.
 */
export function fromValue(value: Value | undefined): Json {
  if (value === undefined || value.kind.case === undefined) return null;
  try {
    return toJson(ValueSchema, value) as Json;
  } catch (error) {
    throw invalidRequest(`A value is not JSON: ${toErrorData(error).message}.`, "Send null in its place.");
  }
}

/** Returns a field with free JSON, or no field if there is none. */
export function valueField<Name extends string>(name: Name, json: Json | undefined): Partial<Record<Name, Value>> {
  return (json === undefined ? {} : { [name]: toValue(json) }) as Partial<Record<Name, Value>>;
}

/** Returns a field with the JSON of a value, or no field if it is absent. */
export function jsonField<Name extends string>(name: Name, value: Value | undefined): Partial<Record<Name, Json>> {
  return (value === undefined ? {} : { [name]: fromValue(value) }) as Partial<Record<Name, Json>>;
}
