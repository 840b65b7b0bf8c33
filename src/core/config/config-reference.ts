import { z } from "zod";
import { isJsonObject, type Json } from "../../contract/json.ts";
import { assertStrict, schemaCases, unwrapSchema } from "./schema-walk.ts";

/** One key of a config. */
export interface ConfigKey {
  /** The dotted path from the root. `[]` stands for a list item, `*` for a name that the user chooses. */
  readonly key: string;
  /** The type in words: `number > 0`, `text`, `constant | linear | cosine`. */
  readonly type: string;
  readonly required: boolean;
  /** The default as written in a config. Absent if there is none. */
  readonly default?: Json;
  readonly description?: string;
  /** The key exists only if another key has this value, such as `environment.id` = `math`. */
  readonly when?: { readonly key: string; readonly value: string };
}

/** Returns every key of a strict schema in order, as rows of a documentation table. Sections are left out. */
export function configReference(schema: z.ZodType): ConfigKey[] {
  assertStrict(schema);
  return describe({ schema, path: "" });
}

interface DescribeOptions {
  readonly schema: z.core.$ZodType;
  readonly path: string;
  /** The value of this key in the default of its section. */
  readonly inherited?: unknown;
  readonly when?: ConfigKey["when"];
}

function describe(options: DescribeOptions): ConfigKey[] {
  const { path, when } = options;
  const { schema, optional, nullable, defaultValue, description } = unwrapSchema(options.schema);
  const fallback = options.inherited ?? defaultValue;
  const cases = schemaCases(schema);
  if (schema instanceof z.ZodObject) return describeObject(schema, { path, when, fallback });
  if (cases !== undefined && cases.length > 0) {
    const key = join(path, cases[0]!.key);
    const id: ConfigKey = {
      key,
      type: [...new Set(cases.map(({ value }) => value))].join(" | "),
      required: !optional,
      ...(isJsonObject(fallback) ? { default: fallback[cases[0]!.key] as Json } : {}),
      description,
      when,
    };
    const rest = cases.flatMap(({ key: idKey, value, object }) =>
      describeObject(object, { path, when: { key: join(path, idKey), value }, fallback, except: idKey }),
    );
    return [id, ...rest];
  }
  const below = container(schema, path);
  if (below !== undefined) return describe({ ...below, when });
  return [
    {
      key: path,
      type: typeText(schema) + (nullable ? " | null" : ""),
      required: !optional && fallback === undefined,
      ...(fallback === undefined ? {} : { default: fallback as Json }),
      description,
      when,
    },
  ];
}

function describeObject(
  object: z.ZodObject,
  options: { path: string; when: ConfigKey["when"]; fallback: unknown; except?: string },
): ConfigKey[] {
  return Object.entries(object.shape)
    .filter(([key]) => key !== options.except)
    .flatMap(([key, schema]) =>
      describe({
        schema,
        path: join(options.path, key),
        inherited: isJsonObject(options.fallback) ? options.fallback[key] : undefined,
        when: options.when,
      }),
    );
}

/** Returns the items of a list or a record if the items are mappings. Their keys get rows of their own. */
function container(schema: z.core.$ZodType, path: string): { schema: z.core.$ZodType; path: string } | undefined {
  const hasKeys = (item: z.core.$ZodType): boolean => {
    const inner = unwrapSchema(item).schema;
    return inner instanceof z.ZodObject || schemaCases(inner) !== undefined;
  };
  if (schema instanceof z.ZodArray && hasKeys(schema.def.element)) {
    return { schema: schema.def.element, path: `${path}[]` };
  }
  if (schema instanceof z.ZodRecord && hasKeys(schema.def.valueType)) {
    return { schema: schema.def.valueType, path: `${path}.*` };
  }
  return undefined;
}

/** Returns the type of a schema in words. */
function typeText(schema: z.core.$ZodType): string {
  const inner = unwrapSchema(schema).schema;
  if (inner instanceof z.ZodNumber) return numberText(inner);
  if (inner instanceof z.ZodString) return "text";
  if (inner instanceof z.ZodBoolean) return "true | false";
  if (inner instanceof z.ZodNull) return "null";
  if (inner instanceof z.ZodLiteral) return [...inner.values].map(String).join(" | ");
  if (inner instanceof z.ZodEnum) return inner.options.map(String).join(" | ");
  if (inner instanceof z.ZodArray) return `list of ${typeText(inner.def.element)}`;
  if (inner instanceof z.ZodRecord) return `mapping to ${typeText(inner.def.valueType)}`;
  if (inner instanceof z.ZodTuple) return `list [${inner.def.items.map(typeText).join(", ")}]`;
  if (inner instanceof z.ZodObject) return "mapping";
  if (inner instanceof z.ZodUnion) return [...new Set(inner.def.options.map(typeText))].join(" | ");
  return "any value";
}

function numberText(schema: z.ZodNumber): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = z.toJSONSchema(schema, { io: "input" });
  const kind = schema.format === "safeint" ? "whole number" : "number";
  const low = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const high = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (low !== undefined && high !== undefined) return `${kind} from ${low} to ${high}`;
  const bounds = [
    exclusiveMinimum === undefined ? low !== undefined && `>= ${low}` : `> ${exclusiveMinimum}`,
    exclusiveMaximum === undefined ? high !== undefined && `<= ${high}` : `< ${exclusiveMaximum}`,
  ].filter((bound) => bound !== false);
  return bounds.length === 0 ? kind : `${kind} ${bounds.join(", ")}`;
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
