import { fromJson, toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Json } from "../../../contract/json.ts";

/** Returns free JSON as a `google.protobuf.Value`. */
export function toValue(json: Json): Value {
  return fromJson(ValueSchema, json as never);
}

/** Returns the JSON of a `google.protobuf.Value`. An absent value is null. */
export function fromValue(value: Value | undefined): Json {
  return value === undefined || value.kind.case === undefined ? null : (toJson(ValueSchema, value) as Json);
}

/** Returns a field with free JSON, or no field if there is none. */
export function valueField<Name extends string>(name: Name, json: Json | undefined): Partial<Record<Name, Value>> {
  return (json === undefined ? {} : { [name]: toValue(json) }) as Partial<Record<Name, Value>>;
}

/** Returns a field with the JSON of a value, or no field if it is absent. */
export function jsonField<Name extends string>(name: Name, value: Value | undefined): Partial<Record<Name, Json>> {
  return (value === undefined ? {} : { [name]: fromValue(value) }) as Partial<Record<Name, Json>>;
}
