import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressionGzip } from "@connectrpc/connect-node";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { checkProtobufSize } from "../../src/core/network/protobuf-size.ts";
import { toConnectError } from "./wire/errors.ts";

/** The bytes before each message: whether it is compressed, and its length. */
const headLength = 5;

/**
 * Yields the messages of a body, decompressed, after it has counted the values in each of them. Throws `ConnectError`
 * for a message that has more than `maxBytes` bytes or too many values, before it is decoded.
 */
export async function* limitedBody(
  body: AsyncIterable<Uint8Array>,
  { input, maxBytes, gzip }: { readonly input: DescMessage; readonly maxBytes: number; readonly gzip: boolean },
): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let [have, need] = [0, headLength];
  for await (const piece of body) {
    pieces.push(piece);
    have += piece.length;
    while (have >= need) {
      const waiting = joined(pieces);
      const length = waiting.readUInt32BE(1);
      if (length > maxBytes) throw tooLong(maxBytes);
      need = headLength + length;
      if (have < need) {
        pieces = [waiting];
        break;
      }
      const isCompressed = waiting[0]! % 2 === 1;
      const content = waiting.subarray(headLength, need);
      // Without a known compression, the decoder refuses the message.
      const known = !isCompressed || gzip;
      const message = isCompressed && gzip ? await compressionGzip.decompress(copyOf(content), maxBytes) : content;
      if (known) checked(input, message);
      yield known ? framed(message) : waiting.subarray(0, need);
      const rest = waiting.subarray(need);
      pieces = rest.length === 0 ? [] : [rest];
      [have, need] = [rest.length, headLength];
    }
  }
  // The decoder says what is wrong with an incomplete message.
  if (have > 0) yield Buffer.concat(pieces);
}

function checked(input: DescMessage, message: Uint8Array): void {
  try {
    checkProtobufSize(input, message);
  } catch (error) {
    throw LyceumError.isInstance(error) ? toConnectError(error) : error;
  }
}

function framed(message: Uint8Array): Uint8Array {
  const head = Buffer.alloc(headLength);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Returns one buffer. Does not copy a single piece, which can have thousands of messages. */
function joined(pieces: readonly Uint8Array[]): Buffer {
  const [first] = pieces;
  if (pieces.length > 1 || first === undefined) return Buffer.concat(pieces);
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
}

function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}

function tooLong(maxBytes: number): ConnectError {
  return new ConnectError(`A message has more than ${maxBytes} bytes.`, Code.ResourceExhausted);
}
