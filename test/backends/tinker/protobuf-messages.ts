import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** The server's half of the binary encoding: reads requests of passes, and writes results. */

type Fields = ReadonlyMap<number, readonly (Uint8Array | number)[]>;

/** A pass as JSON has it. */
export interface ReadPass {
  readonly model_id: string;
  readonly seq_id: number;
  readonly forwardOnly: boolean;
  readonly input: {
    readonly data: readonly object[];
    readonly loss_fn: string;
    readonly loss_fn_config: Readonly<Record<string, number>>;
  };
}

/** Reads `ForwardBackwardRequest`. */
export function readPass(body: Uint8Array): ReadPass {
  const fields = read(body);
  return {
    model_id: text(fields, 1),
    seq_id: number(fields, 2),
    forwardOnly: number(fields, 6) === 1,
    input: {
      data: all(fields, 3).map((datum) => readDatum(read(datum))),
      loss_fn: text(fields, 4),
      loss_fn_config: Object.fromEntries(
        all(fields, 5).map((pair) => {
          const value = all(read(pair), 2)[0]!;
          return [text(read(pair), 1), new DataView(value.buffer, value.byteOffset).getFloat64(0, true)];
        }),
      ),
    },
  };
}

function readDatum(fields: Fields): object {
  const chunks = all(fields, 1).map((chunk) => {
    const tokens = all(read(all(read(chunk), 1)[0]!), 1)[0]!;
    return { tokens: [...new Int32Array(new Uint8Array(tokens).buffer)] };
  });
  const inputs = all(fields, 2).map((pair) => {
    const tensor = read(all(read(pair), 2)[0]!);
    const bytes = new Uint8Array(all(tensor, 1)[0]!).buffer;
    const data = number(tensor, 3) === 1 ? [...new Float32Array(bytes)] : [...new BigInt64Array(bytes)].map(Number);
    return [text(read(pair), 1), { data }] as const;
  });
  return { model_input: { chunks }, loss_fn_inputs: Object.fromEntries(inputs) };
}

/** Writes `ForwardBackwardOutput`. */
export function writePassResult(logprobs: readonly (readonly number[])[]): Uint8Array {
  const ends = logprobs.map((_, i) => 4 * logprobs.slice(0, i + 1).reduce((sum, { length }) => sum + length, 0));
  const tensor = message([
    [1, bytesOf(Float32Array.from(logprobs.flat()))],
    [2, bytesOf(BigInt64Array.from([0, ...ends], BigInt))],
  ]);
  const field = message([
    [1, Buffer.from("logprobs")],
    [2, tensor],
  ]);
  return message([[2, message([[2, field]])]]);
}

/** Writes `SampleResponse` with one sequence. */
export function writeSample(sample: {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly finish: "stop" | "length";
}): Uint8Array {
  const writer = new BinaryWriter();
  if (sample.finish === "length") writer.tag(1, WireType.Varint).int32(1);
  writer.tag(2, WireType.LengthDelimited).bytes(bytesOf(Int32Array.from(sample.ids)));
  writer.tag(3, WireType.LengthDelimited).bytes(bytesOf(Float32Array.from(sample.logprobs)));
  return message([[1, writer.finish()]]);
}

function message(fields: readonly (readonly [number: number, bytes: Uint8Array])[]): Uint8Array {
  const writer = new BinaryWriter();
  for (const [field, bytes] of fields) writer.tag(field, WireType.LengthDelimited).bytes(bytes);
  return writer.finish();
}

function bytesOf(values: Float32Array | Int32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer);
}

function read(body: Uint8Array): Fields {
  const reader = new BinaryReader(body);
  const fields = new Map<number, (Uint8Array | number)[]>();
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const values = fields.get(field) ?? [];
    fields.set(field, values);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Bit64) values.push(reader.skip(type, field));
    else values.push(Number(reader.int64()));
  }
  return fields;
}

function all(fields: Fields, field: number): Uint8Array[] {
  return (fields.get(field) ?? []).filter((value) => value instanceof Uint8Array);
}

function number(fields: Fields, field: number): number {
  return (fields.get(field)?.[0] as number | undefined) ?? 0;
}

function text(fields: Fields, field: number): string {
  return Buffer.from(all(fields, field)[0] ?? []).toString("utf8");
}
