import type { NodeBytes, NodeCallback } from "./node-modules.ts";

/** What `crypto` uses of the guest. */
export interface NodeCryptoOptions {
  /** The library of hash functions. */
  readonly hashes: () => unknown;
  readonly bytesOf: (value: unknown, encoding?: unknown) => NodeBytes;
  /** A number from 0 to 1, from the seed of the job. */
  readonly random: () => number;
  readonly later: (work: NodeCallback, ...args: unknown[]) => unknown;
}

/**
 * Creates the hashes and random values of Node's `crypto`, and the global `crypto`. Sent to an isolate as source text,
 * so it refers to nothing but its argument.
 */
export function createNodeCrypto(options: NodeCryptoOptions): { readonly crypto: object; readonly webcrypto: object } {
  const { bytesOf, random, later } = options;
  type Hasher = { update(data: Uint8Array): Hasher; digest(): Uint8Array; clone(): Hasher };
  type HashFunction = { create(): Hasher };
  type Hashes = Record<string, HashFunction> & { hmac: { create(hash: unknown, key: Uint8Array): Hasher } };
  const hashes = options.hashes as () => Hashes;
  const hashNames =
    "md5 sha1 ripemd160 sha224 sha256 sha384 sha512 sha512-224 sha512-256 sha3-224 sha3-256 sha3-384 sha3-512".split(
      " ",
    );
  const hashOf = (algorithm: unknown): HashFunction => {
    const text = String(algorithm).toLowerCase();
    const name = text
      .replace(/^rsa-/, "")
      .replace(/^sha-(?=\d)/, "sha")
      .replace("/", "-")
      .replace(/^rmd160$/, "ripemd160");
    if (!hashNames.includes(name)) throw new Error("Digest method not supported");
    return hashes()[name.replace("-", "_")]!;
  };
  const hashing = (hasher: Hasher): object => {
    let isDone = false;
    const open = (): void => {
      if (isDone) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    };
    const hash = {
      update: (data: unknown, encoding?: unknown) => {
        open();
        hasher.update(new Uint8Array(bytesOf(data, encoding)));
        return hash;
      },
      digest: (encoding?: string) => {
        open();
        isDone = true;
        const digest = bytesOf(hasher.digest());
        return encoding === undefined || encoding === "buffer" ? digest : digest.toString(encoding);
      },
      copy: () => {
        open();
        return hashing(hasher.clone());
      },
    };
    return hash;
  };
  const fillRandom = <T extends ArrayBufferView>(view: T): T => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256);
    return view;
  };
  const randomUUID = (): string => {
    const bytes = fillRandom(new Uint8Array(16));
    bytes[6] = (bytes[6]! & 0x0f) | 0x40;
    bytes[8] = (bytes[8]! & 0x3f) | 0x80;
    return bytesOf(bytes)
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
  const webcrypto = {
    randomUUID,
    getRandomValues: fillRandom,
    subtle: {
      digest: async (algorithm: { name: string } | string, data: unknown) => {
        const name = typeof algorithm === "string" ? algorithm : algorithm.name;
        return new Uint8Array(
          hashOf(name)
            .create()
            .update(new Uint8Array(bytesOf(data)))
            .digest(),
        ).buffer;
      },
    },
  };
  const randomBytes = (size: number, done?: NodeCallback): unknown => {
    const bytes = fillRandom(bytesOf(new Uint8Array(size)));
    return done === undefined ? bytes : void later(done, null, bytes);
  };
  const randomInt = (...args: unknown[]): unknown => {
    const done = typeof args.at(-1) === "function" ? (args.pop() as NodeCallback) : undefined;
    const [from, to] = (args.length === 1 ? [0, args[0]] : args) as [number, number];
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || to <= from)
      throw new RangeError(`The value of "max" is out of range. It must be an integer greater than ${from}.`);
    const value = from + Math.floor(random() * (to - from));
    return done === undefined ? value : void later(done, null, value);
  };
  const createHash = (algorithm: unknown): object => hashing(hashOf(algorithm).create());
  const crypto = {
    createHash,
    createHmac: (algorithm: unknown, key: unknown) =>
      hashing(hashes().hmac.create(hashOf(algorithm), new Uint8Array(bytesOf(key)))),
    hash: (algorithm: unknown, data: unknown, encoding = "hex") => {
      const hash = createHash(algorithm) as { update(data: unknown): { digest(encoding: string): unknown } };
      return hash.update(data).digest(encoding);
    },
    getHashes: () => [...hashNames],
    randomUUID,
    randomBytes,
    randomInt,
    randomFillSync: fillRandom,
    getRandomValues: fillRandom,
    timingSafeEqual: (a: unknown, b: unknown) => {
      const [left, right] = [bytesOf(a), bytesOf(b)];
      if (left.length !== right.length) throw new RangeError("Input buffers must have the same byte length");
      return left.every((byte, index) => byte === right[index]);
    },
    webcrypto,
    subtle: webcrypto.subtle,
  };
  return { crypto, webcrypto };
}
