import type { AnyNode, ObjectExpression } from "acorn";
import type { PlainValue } from "../../plain-value.ts";
import { plainFloat, readFloat } from "../../plain-value-conversion.ts";

const maxDepth = 200;
const named: Readonly<Record<string, PlainValue>> = {
  undefined: { undefined: true },
  NaN: plainFloat(Number.NaN),
  Infinity: plainFloat(Number.POSITIVE_INFINITY),
};

/**
 * Returns the value of a JavaScript expression that is a constant: number, bigint, string and boolean literals, `null`,
 * `undefined`, and arrays and objects of constants. Undefined for anything else.
 */
export function javascriptConstant(node: AnyNode | null, depth = 0): PlainValue | undefined {
  if (node === null || depth > maxDepth) return undefined;
  switch (node.type) {
    case "Literal":
      return literal(node.value);
    case "Identifier":
      return Object.hasOwn(named, node.name) ? named[node.name] : undefined;
    case "UnaryExpression":
      return signed(node.operator, javascriptConstant(node.argument, depth + 1));
    case "ArrayExpression": {
      const list = node.elements.map((element) => javascriptConstant(element, depth + 1));
      return list.includes(undefined) ? undefined : { list: list as PlainValue[] };
    }
    case "ObjectExpression":
      return objectConstant(node, depth);
    default:
      return undefined;
  }
}

function literal(value: unknown): PlainValue | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "bigint") return { int: String(value) };
  return typeof value === "number" ? plainFloat(value) : undefined;
}

/** +1n is an error in JavaScript. */
function signed(operator: string, value: PlainValue | undefined): PlainValue | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if ("float" in value && operator === "+") return value;
  if ("float" in value && operator === "-") return plainFloat(-readFloat(value.float));
  return "int" in value && operator === "-" ? { int: String(-BigInt(value.int)) } : undefined;
}

/** Entries are in the order of JavaScript objects: whole numbers first, ascending. */
function objectConstant({ properties }: ObjectExpression, depth: number): PlainValue | undefined {
  const entries: Record<string, PlainValue> = {};
  for (const property of properties) {
    if (property.type === "SpreadElement" || property.computed || property.shorthand) return undefined;
    const { key } = property;
    const name = key.type === "Identifier" ? key.name : key.type === "Literal" ? String(key.value) : "__proto__";
    const value = javascriptConstant(property.value, depth + 1);
    // The key __proto__ would set the prototype.
    if (name === "__proto__" || value === undefined) return undefined;
    entries[name] = value;
  }
  return { dict: Object.entries(entries) };
}
