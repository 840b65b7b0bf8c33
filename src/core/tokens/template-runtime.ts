import * as jinja from "@huggingface/jinja";
import { isJsonObject } from "../../contract/json.ts";
import { JsonNumber } from "../text/exact-json.ts";
import type { Value } from "./python-values.ts";
import type { Token } from "./template-tokens.ts";

/** A node of a parsed template, with the fields of its type. */
export type Node = Readonly<Record<string, unknown>>;

/** The variables of a template. */
export interface Scope {
  set(name: string, value: unknown): Value;
  setVariable(name: string, value: Value): Value;
  lookupVariable(name: string): Value;
}

/**
 * The used part of `@huggingface/jinja`. It is declared here because its own types become `any` under `nodenext`
 * resolution.
 */
interface Runtime {
  readonly tokenize: (source: string, options: object) => Token[];
  readonly parse: (tokens: readonly Token[]) => jinja.Template["parsed"];
  readonly Environment: new () => Scope;
  readonly Interpreter: new (
    scope: Scope,
  ) => { run(program: jinja.Template["parsed"]): Value; evaluate(node: Node | undefined, scope: Scope): Value };
}

const { Environment, Interpreter, tokenize, parse } = jinja as unknown as Runtime;

export { Environment, Interpreter, parse, tokenize };

type ValueClass = new (value: unknown) => Value;

const classOf = (example: unknown): ValueClass =>
  new Environment().set("value", example).constructor as unknown as ValueClass;
const [IntegerValue, FloatValue, ArrayValue] = [classOf(1), classOf(0.5), classOf([])];
const scope = new Environment();
const TupleValue = new Interpreter(scope).evaluate({ type: "TupleLiteral", value: [] }, scope)
  .constructor as unknown as ValueClass;

/** Returns the runtime value of a plain value or of exact JSON. */
export function runtimeValue(value: unknown): Value {
  if (value instanceof JsonNumber) {
    return /^-?\d+$/.test(value.text) ? runtimeInteger(BigInt(value.text)) : runtimeFloat(Number(value.text));
  }
  if (typeof value === "bigint") return runtimeInteger(value);
  if (Array.isArray(value)) return runtimeList(value.map(runtimeValue));
  if (!isJsonObject(value)) return new Environment().set("value", value);
  const object = new Environment().set("value", {});
  const entries = value instanceof Map ? (value as ReadonlyMap<string, unknown>) : Object.entries(value);
  for (const [key, item] of entries) (object.value as Map<string, Value>).set(key, runtimeValue(item));
  return object;
}

/** Returns an integer. Its value is a `bigint` if a number is not exact. */
export function runtimeInteger(value: bigint): Value {
  return new IntegerValue(Number.isSafeInteger(Number(value)) ? Number(value) : value);
}

/** Returns a float, also for a whole value such as `5.0`. */
export function runtimeFloat(value: number): Value {
  return new FloatValue(value);
}

/** Returns a list of runtime values. */
export function runtimeList(values: readonly Value[]): Value {
  return new ArrayValue([...values]);
}

/** Returns a tuple of runtime values. */
export function runtimeTuple(values: readonly Value[]): Value {
  return new TupleValue([...values]);
}
