import type { FileMetaData, SchemaElement, SchemaTree } from "hyparquet";
import { LyceumError } from "../../contract/errors/index.ts";
import { parseExactJson } from "../text/exact-json.ts";

/**
 * Returns metadata by which `hyparquet` reads the stored integers of DECIMAL columns. It would multiply them by a power
 * of ten, which rounds them. {@link exactDecimals} reads the values.
 */
export function withStoredDecimals(metadata: FileMetaData): FileMetaData {
  const stored = (element: SchemaElement): SchemaElement => {
    if (scaleOf(element) === undefined) return element;
    // Bytes of a variable length would be read as a text.
    if (element.type === "BYTE_ARRAY") return { ...element, converted_type: "DECIMAL", scale: 0 };
    const { converted_type: _, logical_type: __, ...plain } = element;
    return plain;
  };
  return { ...metadata, schema: metadata.schema.map(stored) };
}

/**
 * Returns a value with the decimals that `schema` describes. As in JSON rows, a decimal is a number if the number has
 * all its digits, and otherwise a text. Throws `data.malformed` for a decimal that `hyparquet` has rounded.
 */
export function exactDecimals(value: unknown, schema: SchemaTree): unknown {
  if (value === null || value === undefined) return value;
  const { element, children } = schema;
  const scale = scaleOf(element);
  if (scale !== undefined)
    return Array.isArray(value) ? value.map((item) => decimal(item, scale, schema)) : decimal(value, scale, schema);
  const [child] = children;
  if (child === undefined) return value;
  if (Array.isArray(value)) {
    const item = element.converted_type !== "LIST" ? schema : child.children.length === 1 ? child.children[0]! : child;
    return value.map((one) => exactDecimals(one, item));
  }
  if (typeof value !== "object") return value;
  const isMap = element.converted_type === "MAP";
  const partOf = (key: string): SchemaTree | undefined =>
    isMap ? child.children[1] : children.find(({ element: { name } }) => name === key);
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => {
      const inner = partOf(key);
      return [key, inner === undefined ? part : exactDecimals(part, inner)];
    }),
  );
}

function scaleOf({ converted_type, logical_type, scale }: SchemaElement): number | undefined {
  if (logical_type?.type === "DECIMAL") return logical_type.scale ?? scale ?? 0;
  return converted_type === "DECIMAL" ? (scale ?? 0) : undefined;
}

function decimal(stored: unknown, scale: number, { path }: SchemaTree): unknown {
  if (stored === null || stored === undefined) return stored;
  if (typeof stored === "number" && !Number.isSafeInteger(stored)) {
    throw new LyceumError({
      code: "data.malformed",
      message: `A decimal in the column ${path.join(".")} has more digits than can be read.`,
      hint: "Store the column as text, or as DECIMAL with bytes of a fixed length.",
    });
  }
  const integer = stored instanceof Uint8Array ? signedInteger(stored) : BigInt(stored as number | bigint);
  const digits = String(integer < 0n ? -integer : integer).padStart(scale + 1, "0");
  const at = digits.length - scale;
  const fraction = digits.slice(at).replace(/0+$/, "");
  const text = `${integer < 0n ? "-" : ""}${digits.slice(0, at)}${fraction === "" ? "" : `.${fraction}`}`;
  return parseExactJson(text, "text", "text");
}

/** Reads big-endian bytes in two's complement. */
function signedInteger(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
}
