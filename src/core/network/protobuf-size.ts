import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { tooManyElements } from "./limited-json.ts";

/**
 * The default of `maxElements`: about a hundred megabytes of objects. A batch of 1,024 sequences to train on has 30,000
 * elements.
 */
const maxProtobufElements = 2 ** 18;

/** The number of packed values that count as one element, since a number takes much less memory than an object. */
const packedValues = 32;

/**
 * Counts the elements of a message in protobuf before it is decoded, because two bytes can become an object of hundreds
 * of bytes. Each value of a field is an element, at all depths together. Throws `server.invalid-request` at the first
 * one too many. Malformed bytes are left to the decoder.
 */
export function checkProtobufSize(
  schema: DescMessage,
  bytes: Uint8Array,
  maxElements: number = maxProtobufElements,
): void {
  // An element has two bytes or more, and a packed value has one.
  if (bytes.length <= maxElements) return;
  let elements = 0;
  const add = (count: number): void => {
    elements += count;
    if (elements > maxElements) throw tooManyElements(maxElements);
  };
  const read = (fieldOf: (number: number) => DescField | undefined, part: Uint8Array): void => {
    const reader = new BinaryReader(part);
    while (reader.pos < reader.len) {
      const [number, type] = reader.tag();
      add(1);
      const field = fieldOf(number);
      if (type !== WireType.LengthDelimited || field === undefined) {
        reader.skip(type, number);
        continue;
      }
      const content = reader.bytes();
      if (field.fieldKind === "map") {
        const value = field.mapKind === "message" ? field.message : undefined;
        // An entry of a map is a message with its value as field 2.
        if (value !== undefined) {
          const entry = new BinaryReader(content);
          while (entry.pos < entry.len) {
            const [key, kind] = entry.tag();
            if (key === 2 && kind === WireType.LengthDelimited) read(fieldsOf(value), entry.bytes());
            else entry.skip(kind, key);
          }
        }
      } else if (field.message !== undefined) read(fieldsOf(field.message), content);
      else if (field.fieldKind === "list") add(packedCost(field, content));
    }
  };
  try {
    read(fieldsOf(schema), bytes);
  } catch (error) {
    // The reader throws these. The decoder does so too, in the words of its own check.
    if (error instanceof RangeError || (error as Error).constructor === Error) return;
    throw error;
  }
}

function fieldsOf({ fields }: DescMessage): (number: number) => DescField | undefined {
  return (number) => fields.find((field) => field.number === number);
}

/** Returns the cost of packed values in elements. A 64-bit integer becomes an object of its own. */
function packedCost(field: DescField, { length }: Uint8Array): number {
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return 0;
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
      return length;
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return length / 8;
    case ScalarType.DOUBLE:
      return length / 8 / packedValues;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return length / 4 / packedValues;
    default:
      return length / packedValues;
  }
}
