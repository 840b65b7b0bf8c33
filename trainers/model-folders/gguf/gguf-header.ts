import { LyceumError } from "../../../src/contract/errors/lyceum-error.ts";
import { malformedFile } from "../../../src/core/tokens/model-file.ts";
import { type BlockType, blockTypes } from "./gguf-blocks.ts";

/** A value of a GGUF file's metadata. */
export type GgufValue = number | boolean | string | readonly (number | boolean | string)[];

/** The location of a tensor in a GGUF file. */
export interface GgufTensor {
  readonly type: BlockType;
  /** Rows first, as in a Hugging Face checkpoint. GGUF itself has the columns first. */
  readonly shape: readonly number[];
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** The header of a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). */
export interface GgufHeader {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: ReadonlyMap<string, GgufTensor>;
}

/** The first four bytes of every GGUF file: "GGUF". */
export const ggufMagic = 0x46554747;

/**
 * Parses the header at the beginning of a GGUF file. Returns undefined if `start` ends within the header. Throws
 * `model.unsupported` for an unknown version or type of block, and `model.malformed`, with the reason, if the file
 * violates the format or is shorter than its tensors.
 */
export function parseGgufHeader(options: {
  readonly file: string;
  readonly fileSize: number;
  readonly start: Uint8Array;
}): GgufHeader | undefined {
  const { file, start } = options;
  try {
    return new HeaderParser(options).parse();
  } catch (error) {
    if (error instanceof RangeError) {
      if (start.length < options.fileSize) return undefined;
      throw malformedFile({ file, reason: `it ends at byte ${start.length}, within its header`, cause: error });
    }
    if (error instanceof TypeError) throw malformedFile({ file, reason: "a text in its header is not UTF-8" });
    throw error;
  }
}

const arrayType = 9;

/** Reads values in order. Throws a RangeError at the end of the bytes. */
class HeaderParser {
  readonly #file: string;
  readonly #fileSize: number;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  /** Keeps U+FEFF, which some vocabularies have as a token. */
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #at = 0;

  constructor({ file, fileSize, start }: Parameters<typeof parseGgufHeader>[0]) {
    this.#file = file;
    this.#fileSize = fileSize;
    this.#bytes = start;
    this.#view = new DataView(start.buffer, start.byteOffset, start.length);
  }

  parse(): GgufHeader {
    if (this.#uint32() !== ggufMagic) throw this.#malformed('it does not begin with "GGUF"');
    const version = this.#uint32();
    if (version !== 2 && version !== 3) {
      throw unsupportedGguf(
        this.#file,
        `GGUF version ${version}`,
        "Convert it again: versions 2 and 3, little-endian.",
      );
    }
    const tensorCount = this.#uint64();
    const valueCount = this.#uint64();
    const metadata = new Map<string, GgufValue>();
    for (let i = 0; i < valueCount; i++) {
      const key = this.#text();
      if (metadata.has(key)) throw this.#malformed(`it has the key ${key} twice`);
      metadata.set(key, this.#value(this.#uint32()));
    }
    const listed = Array.from(this.#tensors(tensorCount));
    const alignment = metadata.get("general.alignment") ?? 32;
    if (typeof alignment !== "number" || alignment < 8 || alignment % 8 !== 0) {
      throw this.#malformed(`its alignment is ${String(alignment)}`);
    }
    const dataStart = Math.ceil(this.#at / alignment) * alignment;
    const tensors = new Map<string, GgufTensor>();
    for (const { name, ...tensor } of listed) {
      if (tensors.has(name)) throw this.#malformed(`it has tensor "${name}" twice`);
      if (tensor.byteOffset % alignment !== 0) throw this.#malformed(`tensor "${name}" is not aligned`);
      const byteOffset = dataStart + tensor.byteOffset;
      const end = byteOffset + tensor.byteLength;
      if (end > this.#fileSize) {
        throw this.#malformed(`tensor "${name}" ends at byte ${end}, but the file has ${this.#fileSize}`);
      }
      tensors.set(name, { ...tensor, byteOffset });
    }
    return { metadata, tensors };
  }

  *#tensors(count: number): Generator<GgufTensor & { readonly name: string }> {
    for (let i = 0; i < count; i++) {
      const name = this.#text();
      const dimensions = this.#uint32();
      if (dimensions < 1 || dimensions > 4) throw this.#malformed(`tensor "${name}" has ${dimensions} dimensions`);
      const shape = Array.from({ length: dimensions }, () => this.#uint64());
      const id = this.#uint32();
      const byteOffset = this.#uint64();
      const type = blockTypes.get(id);
      if (type === undefined) throw unsupportedBlocks(this.#file, name, id);
      const count = shape.reduce((product, size) => product * size, 1);
      if (!Number.isSafeInteger(count) || count === 0 || shape[0]! % type.values !== 0) {
        throw this.#malformed(`tensor "${name}" of type ${type.name} has the shape [${shape.join(", ")}]`);
      }
      const byteLength = (count / type.values) * type.bytes;
      yield { name, type, shape: shape.toReversed(), byteOffset, byteLength };
    }
  }

  #value(type: number): GgufValue {
    if (type !== arrayType) return this.#scalar(type);
    const elementType = this.#uint32();
    const length = this.#uint64();
    const values: (number | boolean | string)[] = [];
    for (let i = 0; i < length; i++) values.push(this.#scalar(elementType));
    return values;
  }

  #scalar(type: number): number | boolean | string {
    const view = this.#view;
    switch (type) {
      case 0:
        return view.getUint8(this.#advance(1));
      case 1:
        return view.getInt8(this.#advance(1));
      case 2:
        return view.getUint16(this.#advance(2), true);
      case 3:
        return view.getInt16(this.#advance(2), true);
      case 4:
        return this.#uint32();
      case 5:
        return view.getInt32(this.#advance(4), true);
      case 6:
        return shortest(view.getFloat32(this.#advance(4), true));
      case 7:
        return view.getUint8(this.#advance(1)) !== 0;
      case 8:
        return this.#text();
      case 10:
        return this.#uint64();
      case 11:
        return Number(view.getBigInt64(this.#advance(8), true));
      case 12:
        return view.getFloat64(this.#advance(8), true);
      default:
        throw this.#malformed(`its metadata has a value of the unknown type ${type}`);
    }
  }

  #text(): string {
    const length = this.#uint64();
    const begin = this.#advance(length);
    if (this.#at > this.#bytes.length) throw new RangeError("The text is longer than the bytes.");
    return this.#decoder.decode(this.#bytes.subarray(begin, this.#at));
  }

  #uint32(): number {
    return this.#view.getUint32(this.#advance(4), true);
  }

  #uint64(): number {
    const value = Number(this.#view.getBigUint64(this.#advance(8), true));
    if (!Number.isSafeInteger(value)) throw this.#malformed(`its header has the number ${value}`);
    return value;
  }

  #advance(bytes: number): number {
    const before = this.#at;
    this.#at += bytes;
    return before;
  }

  #malformed(reason: string): LyceumError {
    return malformedFile({ file: this.#file, reason });
  }
}

/** Returns the shortest decimal number with this float32 value: 1e-6 rather than 9.999999974752427e-7. */
function shortest(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

/** Names of types that files of other quantisations have. */
const otherTypes: Readonly<Record<number, string>> = {
  9: "Q8_1",
  10: "Q2_K",
  11: "Q3_K",
  15: "Q8_K",
  16: "IQ2_XXS",
  17: "IQ2_XS",
  18: "IQ3_XXS",
  19: "IQ1_S",
  20: "IQ4_NL",
  21: "IQ3_S",
  22: "IQ2_S",
  23: "IQ4_XS",
  28: "F64",
  29: "IQ1_M",
  34: "TQ1_0",
  35: "TQ2_0",
  39: "MXFP4",
};

function unsupportedBlocks(file: string, tensor: string, id: number): LyceumError {
  const type = otherTypes[id] === undefined ? `the unknown type ${id}` : `type ${otherTypes[id]}`;
  return unsupportedGguf(
    file,
    `tensor "${tensor}" of ${type}`,
    `Choose a file of the same model whose tensors are ${[...blockTypes.values()].map(({ name }) => name).join(", ")}, such as Q4_K_M, Q5_K_M, Q6_K or Q8_0.`,
  );
}

/** Creates the error for a GGUF file with something that cannot be read. */
export function unsupportedGguf(file: string, what: string, hint: string): LyceumError {
  return new LyceumError({
    code: "model.unsupported",
    message: `${file} has ${what}, which is not supported.`,
    hint,
    data: { file },
  });
}
