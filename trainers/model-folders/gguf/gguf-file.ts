import { open, stat } from "node:fs/promises";
import path from "node:path";
import { malformedFile } from "../../../src/core/tokens/model-file.ts";
import { WeightsFile } from "../weights/weights-file.ts";
import { type GgufHeader, type GgufValue, ggufMagic, parseGgufHeader, unsupportedGguf } from "./gguf-header.ts";

const firstHeaderBytes = 16 * 1024 * 1024;

/** Several times the header of a vocabulary of 260,000 tokens. */
const mostHeaderBytes = 256 * 1024 * 1024;

/** The size of a read, in values. A multiple of every block. */
const chunkValues = 1024 * 1024;

/** True if a file begins with the magic bytes of GGUF. Names do not say it: Ollama's files have no extension. */
export async function isGguf(file: string): Promise<boolean> {
  // Opening a pipe would wait for its writer.
  if ((await stat(file).catch(() => undefined))?.isFile() !== true) return false;
  await using handle = await open(file, "r");
  const { buffer, bytesRead } = await handle.read(new Uint8Array(4), 0, 4, 0);
  return bytesRead === 4 && new DataView(buffer.buffer).getUint32(0, true) === ggufMagic;
}

/** An open GGUF file. Tensors are read on request, in parts. */
export class GgufFile implements AsyncDisposable {
  readonly path: string;
  readonly tensors: GgufHeader["tensors"];
  readonly #metadata: GgufHeader["metadata"];
  readonly #weights: WeightsFile;
  readonly #read = new Set<string>();

  private constructor(weights: WeightsFile, { metadata, tensors }: GgufHeader) {
    this.path = weights.path;
    this.tensors = tensors;
    this.#metadata = metadata;
    this.#weights = weights;
  }

  /** Opens a file and checks its header: see `parseGgufHeader`. Throws `model.unsupported` for one file of several. */
  static async open(file: string): Promise<GgufFile> {
    const weights = await WeightsFile.open(file, { checked: false });
    await using opened = new AsyncDisposableStack();
    opened.defer(() => weights.close());
    const gguf = new GgufFile(weights, await readHeader(weights));
    if (Number(gguf.number("split.count") ?? 1) > 1) {
      throw unsupportedGguf(
        file,
        `one part of a model in ${gguf.number("split.count")} files`,
        `Merge the files into one: llama-gguf-split --merge ${path.basename(file)} model.gguf (name the first file).`,
      );
    }
    opened.move();
    return gguf;
  }

  /** Reads a tensor as float32. */
  async read(name: string): Promise<Float32Array> {
    const { type, shape, byteOffset } = this.tensors.get(name)!;
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    for (let done = 0; done < values.length; done += chunkValues) {
      const part = values.subarray(done, done + chunkValues);
      const bytes = new Uint8Array((part.length / type.values) * type.bytes);
      await this.#weights.read(bytes, byteOffset + (done / type.values) * type.bytes);
      type.decode(bytes, part);
    }
    return values;
  }

  text(key: string): string | undefined {
    return this.#typed(key, "a text", (value) => typeof value === "string");
  }

  number(key: string): number | undefined {
    return this.#typed(key, "a number", (value) => typeof value === "number");
  }

  flag(key: string): boolean | undefined {
    return this.#typed(key, "true or false", (value) => typeof value === "boolean");
  }

  texts(key: string): readonly string[] | undefined {
    return this.#typed(key, "a list of texts", (value) => isListOf("string", value));
  }

  numbers(key: string): readonly number[] | undefined {
    return this.#typed(key, "a list of numbers", (value) => isListOf("number", value));
  }

  /** Returns a value that must be there. Throws `model.malformed`. */
  required<T>(key: string, value: T | undefined): T {
    if (value === undefined) throw malformedFile({ file: this.path, reason: `it has no ${key}` });
    return value;
  }

  /** Returns the keys with a prefix that nothing has asked for. */
  unreadKeys(prefix: string): string[] {
    return [...this.#metadata.keys()].filter((key) => key.startsWith(prefix) && !this.#read.has(key));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#weights.close();
  }

  #typed<T extends GgufValue>(key: string, wanted: string, is: (value: GgufValue) => boolean): T | undefined {
    this.#read.add(key);
    const value = this.#metadata.get(key);
    if (value === undefined || is(value)) return value as T | undefined;
    throw malformedFile({ file: this.path, reason: `${key} is not ${wanted}` });
  }
}

async function readHeader(file: WeightsFile): Promise<GgufHeader> {
  for (let length = firstHeaderBytes; ; length *= 4) {
    const start = new Uint8Array(Math.min(length, file.size));
    await file.read(start, 0);
    const header = parseGgufHeader({ file: file.path, fileSize: file.size, start });
    if (header !== undefined) return header;
    if (length >= mostHeaderBytes) {
      throw malformedFile({ file: file.path, reason: `its header is longer than ${mostHeaderBytes} bytes` });
    }
  }
}

function isListOf(type: "string" | "number", value: GgufValue): boolean {
  return Array.isArray(value) && value.every((element) => typeof element === type);
}
