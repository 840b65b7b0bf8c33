import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** One event of a TensorBoard event file. */
export interface TensorboardEvent {
  /** The time in seconds since 1970. */
  readonly wallTime: number;
  readonly step?: number;
  readonly what: /** The first event of a file: the version of its format. */
    | { readonly type: "version" }
    /** The run restarts here: values of earlier files for this step and later steps are void. */
    | { readonly type: "restart" }
    | { readonly type: "values"; readonly values: readonly TensorboardValue[] };
}

/** A point of a curve, or a text in Markdown. */
export type TensorboardValue =
  | { readonly tag: string; readonly scalar: number }
  | { readonly tag: string; readonly text: string };

/** The first file version in which readers respect `restart`. */
const fileVersion = "brain.Event:2";
const sessionStart = 1;
const tensorDataClass = 2;
const stringType = 7;

/** Encodes an `Event` message of TensorFlow (tensorflow/core/util/event.proto, summary.proto). Scalars are float32. */
export function encodeEvent({ wallTime, step = 0, what }: TensorboardEvent): Uint8Array {
  const event = new BinaryWriter();
  event.tag(1, WireType.Bit64).double(wallTime);
  event.tag(2, WireType.Varint).int64(step);
  if (what.type === "version") event.tag(3, WireType.LengthDelimited).string(fileVersion);
  else if (what.type === "restart") {
    message(event, 7, (log) => log.tag(1, WireType.Varint).int32(sessionStart));
  } else {
    message(event, 5, (summary) => {
      for (const value of what.values) message(summary, 1, (writer) => encodeValue(writer, value));
    });
  }
  return event.finish();
}

function encodeValue(writer: BinaryWriter, value: TensorboardValue): void {
  writer.tag(1, WireType.LengthDelimited).string(value.tag);
  if ("scalar" in value) {
    writer.tag(2, WireType.Bit32).float(Math.fround(value.scalar));
    return;
  }
  message(writer, 9, (metadata) => {
    message(metadata, 1, (plugin) => plugin.tag(1, WireType.LengthDelimited).string("text"));
    metadata.tag(4, WireType.Varint).int32(tensorDataClass);
  });
  message(writer, 8, (tensor) => {
    tensor.tag(1, WireType.Varint).int32(stringType);
    // The shape has one dimension of size 1.
    message(tensor, 2, (shape) => message(shape, 2, (dimension) => dimension.tag(1, WireType.Varint).int64(1)));
    tensor.tag(8, WireType.LengthDelimited).bytes(new TextEncoder().encode(value.text));
  });
}

/** Writes a nested message. */
function message(writer: BinaryWriter, field: number, write: (inner: BinaryWriter) => unknown): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  write(writer);
  writer.join();
}
