import { z } from "zod";
import { LyceumError } from "../../contract/errors/index.ts";

/** A schema without its wrappers, and what they say: whether the key is optional, its default, its description. */
export interface Unwrapped {
  /** The schema without optional, default, nullable and similar wrappers. */
  readonly schema: z.core.$ZodType;
  readonly optional: boolean;
  readonly nullable: boolean;
  readonly defaultValue?: unknown;
  readonly description?: string;
}

/** Removes optional, default, prefault, nullable, readonly, catch and pipes (to their input side) from a schema. */
export function unwrapSchema(schema: z.core.$ZodType): Unwrapped {
  let current = schema;
  let optional = false;
  let nullable = false;
  let defaultValue: unknown;
  let description: string | undefined;
  for (;;) {
    description ??= z.globalRegistry.get(current)?.description;
    if (current instanceof z.ZodDefault || current instanceof z.ZodPrefault) {
      optional = true;
      defaultValue ??= current.def.defaultValue;
      current = current.def.innerType;
    } else if (current instanceof z.ZodOptional) {
      optional = true;
      current = current.def.innerType;
    } else if (current instanceof z.ZodNullable) {
      nullable = true;
      current = current.def.innerType;
    } else if (
      current instanceof z.ZodReadonly ||
      current instanceof z.ZodCatch ||
      current instanceof z.ZodNonOptional
    ) {
      current = current.def.innerType;
    } else if (current instanceof z.ZodPipe) {
      current = current.def.in;
    } else {
      return { schema: current, optional, nullable, defaultValue, description };
    }
  }
}

/** One case of a discriminated union: the object schema for `key: value`. */
export interface SchemaCase {
  readonly key: string;
  readonly value: string;
  readonly object: z.ZodObject;
}

/** Returns the cases of a discriminated union of objects. Returns undefined for every other schema. */
export function schemaCases(schema: z.core.$ZodType): readonly SchemaCase[] | undefined {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return undefined;
  const key = schema.def.discriminator;
  return schema.def.options.flatMap((option) => {
    const object = unwrapSchema(option).schema;
    if (!(object instanceof z.ZodObject)) return [];
    const literal = object.shape[key];
    const values = literal instanceof z.ZodLiteral ? [...literal.values] : [];
    return values.map((value) => ({ key, value: String(value), object }));
  });
}

/** Returns the keys that the mapping at `path` may have for this config. Returns undefined if every key is allowed. */
export function knownKeys(
  schema: z.core.$ZodType,
  value: unknown,
  path: readonly PropertyKey[],
): readonly string[] | undefined {
  if (schema instanceof z.ZodPipe && !(schema.def.out instanceof z.ZodTransform)) {
    return knownKeys(schema.def.out, value, path);
  }
  const inner = unwrapSchema(schema).schema;
  const [head, ...rest] = path;
  const child = (key: PropertyKey): unknown =>
    typeof value === "object" && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  const cases = schemaCases(inner);
  const object =
    cases === undefined ? inner : cases.find(({ key, value: wanted }) => String(child(key)) === wanted)?.object;
  if (object instanceof z.ZodObject) {
    if (head === undefined) return Object.keys(object.shape);
    const next = object.shape[String(head)];
    return next === undefined ? undefined : knownKeys(next, child(head), rest);
  }
  if (head === undefined) return undefined;
  if (object instanceof z.ZodArray) return knownKeys(object.def.element, child(head), rest);
  if (object instanceof z.ZodRecord) return knownKeys(object.def.valueType, child(head), rest);
  if (object instanceof z.ZodUnion) {
    const keys = object.def.options.flatMap((option) => knownKeys(option, value, path) ?? []);
    return keys.length === 0 ? undefined : [...new Set(keys)];
  }
  return undefined;
}

/** Throws `internal` if an object of the schema would silently drop unknown keys. */
export function assertStrict(schema: z.core.$ZodType, path = "config"): void {
  const inner = unwrapSchema(schema).schema;
  if (inner instanceof z.ZodObject) {
    if (!(inner.def.catchall instanceof z.ZodNever)) {
      throw new LyceumError({
        code: "internal",
        message: `The schema of ${path} ignores unknown keys.`,
        hint: "Declare it with z.strictObject.",
      });
    }
    for (const [key, child] of Object.entries(inner.shape)) assertStrict(child, `${path}.${key}`);
  } else if (inner instanceof z.ZodArray) assertStrict(inner.def.element, `${path}[]`);
  else if (inner instanceof z.ZodRecord) assertStrict(inner.def.valueType, `${path}.*`);
  else if (inner instanceof z.ZodUnion) for (const option of inner.def.options) assertStrict(option, path);
}
