import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { WireDatum, WirePassResult, WireSampleResult, WireTensor } from "./wire.ts";

/**
 * The binary encoding of the Tinker API (protobuf, package `tinker_public`), of the messages that are large. Comments
 * give the fields as `number: name`. Arrays are little-endian bytes. Every other request and answer is JSON.
 */

/** The content type of the encoding. */
export const protobufType = "application/x-protobuf";

const dtypes = { float32: 1, int64: 2 } as const;

/** Encodes `ForwardBackwardRequest`. A forward pass is one with `forwardOnly`. */
export function encodePass(options: {
  readonly model: string;
  readonly sequence: number;
  readonly data: readonly WireDatum[];
  readonly loss: string;
  readonly config: Readonly<Record<string, number>>;
  readonly forwardOnly: boolean;
}): Uint8Array {
  const { model, sequence, data, loss, config, forwardOnly } = options;
  // 1: model_id, 2: seq_id, 3: data, 4: loss_fn, 5: loss_fn_config, 6: forward_only, 7: loss_fn_config_v2
  const writer = new BinaryWriter();
  bytesField(writer, 1, Buffer.from(model));
  writer.tag(2, WireType.Varint).int32(sequence);
  for (const datum of data) bytesField(writer, 3, encodeDatum(datum));
  bytesField(writer, 4, Buffer.from(loss));
  for (const [name, value] of Object.entries(config)) {
    bytesField(
      writer,
      5,
      entry(name, (to) => to.tag(2, WireType.Bit64).double(value)),
    );
    // In the newer form, a number is a message with 1: number.
    const number = new BinaryWriter().tag(1, WireType.Bit64).double(value).finish();
    bytesField(
      writer,
      7,
      entry(name, (to) => bytesField(to, 2, number)),
    );
  }
  if (forwardOnly) writer.tag(6, WireType.Varint).bool(true);
  return writer.finish();
}

/** `Datum`, 1: model_input (`Chunk`, 1: encoded_text, 1: tokens), 2: loss_fn_inputs. */
function encodeDatum({ model_input, loss_fn_inputs }: WireDatum): Uint8Array {
  const writer = new BinaryWriter();
  for (const { tokens } of model_input.chunks) {
    const text = message(1, asBytes(Int32Array.from(tokens)));
    bytesField(writer, 1, message(1, text));
  }
  for (const [name, tensor] of Object.entries(loss_fn_inputs)) {
    bytesField(
      writer,
      2,
      entry(name, (to) => bytesField(to, 2, encodeTensor(tensor))),
    );
  }
  return writer.finish();
}

/** `Tensor`, 1: dense, 3: dtype, 4: shape. */
function encodeTensor({ data, dtype, shape }: WireTensor): Uint8Array {
  const values = dtype === "float32" ? Float32Array.from(data) : BigInt64Array.from(data, BigInt);
  const writer = new BinaryWriter();
  bytesField(writer, 1, asBytes(values));
  writer.tag(3, WireType.Varint).int32(dtypes[dtype]);
  const packed = new BinaryWriter();
  for (const size of shape) packed.int64(size);
  bytesField(writer, 4, packed.finish());
  return writer.finish();
}

/** Decodes `ForwardBackwardOutput`, 2: loss_fn_outputs (`ArrayRecord`, 2: fields). */
export function decodePass(body: Uint8Array): WirePassResult {
  const outputs = fieldsOf(body)
    .filter(({ number }) => number === 2)
    .flatMap(({ bytes }) => logprobsOf(bytes));
  return { loss_fn_outputs: outputs.map((data) => ({ logprobs: { data } })) };
}

/** Returns the log-probabilities of each datum of a record. `BatchedTensor`, 1: data, 2: offsets in bytes. */
function logprobsOf(record: Uint8Array): number[][] {
  for (const { number, bytes } of fieldsOf(record)) {
    if (number !== 2) continue;
    const pair = fieldsOf(bytes);
    if (textOf(pair, 1) !== "logprobs") continue;
    const tensor = fieldsOf(bytesOf(pair, 2));
    const values = floats(bytesOf(tensor, 1));
    const offsets = bytesOf(tensor, 2);
    const view = new DataView(offsets.buffer, offsets.byteOffset, offsets.byteLength);
    const starts = Array.from({ length: offsets.byteLength / 8 }, (_, i) => Number(view.getBigInt64(8 * i, true)) / 4);
    return starts.slice(1).map((end, i) => values.slice(starts[i], end));
  }
  return [];
}

/** Decodes `SampleResponse`, 1: sequences (`SampledSequence`, 1: stop_reason, 2: tokens, 3: logprobs). */
export function decodeSamples(body: Uint8Array): WireSampleResult {
  const sequences = fieldsOf(body).filter(({ number }) => number === 1);
  return {
    sequences: sequences.map(({ bytes }) => {
      const sequence = fieldsOf(bytes);
      const tokens = bytesOf(sequence, 2);
      const view = new DataView(tokens.buffer, tokens.byteOffset, tokens.byteLength);
      return {
        tokens: Array.from({ length: tokens.byteLength / 4 }, (_, i) => view.getInt32(4 * i, true)),
        logprobs: floats(bytesOf(sequence, 3)),
        stop_reason: sequence.some(({ number, value }) => number === 1 && value === 1) ? "length" : "stop",
      };
    }),
  };
}

/** A field of a message: its bytes, or its value if it is a number. */
interface Field {
  readonly number: number;
  readonly bytes: Uint8Array;
  readonly value: number | undefined;
}

/** Reads the fields of a message. Throws a RangeError if it is cut off. */
function fieldsOf(body: Uint8Array): Field[] {
  const reader = new BinaryReader(body);
  const fields: Field[] = [];
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    if (type === WireType.LengthDelimited) fields.push({ number, bytes: reader.bytes(), value: undefined });
    else if (type === WireType.Varint) fields.push({ number, bytes: nothing, value: Number(reader.int64()) });
    else reader.skip(type, number);
  }
  return fields;
}

const nothing = new Uint8Array();

function bytesOf(fields: readonly Field[], wanted: number): Uint8Array {
  return fields.find(({ number }) => number === wanted)?.bytes ?? nothing;
}

function textOf(fields: readonly Field[], wanted: number): string {
  return Buffer.from(bytesOf(fields, wanted)).toString("utf8");
}

function floats(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/** Returns a message with one field. */
function message(number: number, bytes: Uint8Array): Uint8Array {
  const writer = new BinaryWriter();
  bytesField(writer, number, bytes);
  return writer.finish();
}

/** Returns an entry of a map: 1: key, 2: value. */
function entry(name: string, value: (to: BinaryWriter) => void): Uint8Array {
  const writer = new BinaryWriter();
  bytesField(writer, 1, Buffer.from(name));
  value(writer);
  return writer.finish();
}

function bytesField(writer: BinaryWriter, number: number, bytes: Uint8Array): void {
  writer.tag(number, WireType.LengthDelimited).bytes(bytes);
}

function asBytes(values: Int32Array | Float32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
