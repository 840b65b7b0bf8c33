import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

/** Creates a folder with these files (objects become JSON, names may have folders), which is removed when disposed. */
export async function temporaryFolder(
  files: Readonly<Record<string, unknown>> = {},
): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "lyceum-tokens-"));
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** Returns the character of a byte in a byte-level vocabulary by GPT-2's rule, written independently. */
export function byteCharacter(byte: number): string {
  const printable = [...range(0x21, 0x7e), ...range(0xa1, 0xac), ...range(0xae, 0xff)];
  if (printable.includes(byte)) return String.fromCodePoint(byte);
  return String.fromCodePoint(
    256 +
      range(0, 255)
        .filter((other) => !printable.includes(other))
        .indexOf(byte),
  );
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Returns a `tokenizer.json` of byte-level BPE: all bytes, a token for each merge, then the special tokens. */
export function byteLevelBpe(options: {
  readonly merges?: readonly (readonly [string, string])[];
  readonly specialTokens?: readonly string[];
  readonly plainAddedTokens?: readonly string[];
}): Record<string, unknown> {
  const { merges = [], specialTokens = [], plainAddedTokens = [] } = options;
  const written = merges.map(([left, right]) => [bytesOf(left), bytesOf(right)] as const);
  const tokens = [...range(0, 255).map(byteCharacter), ...written.map(([left, right]) => left + right)];
  return {
    version: "1.0",
    added_tokens: [...specialTokens, ...plainAddedTokens].map((content, i) => ({
      id: tokens.length + i,
      content,
      special: specialTokens.includes(content),
      normalized: false,
    })),
    normalizer: null,
    pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
    post_processor: null,
    decoder: { type: "ByteLevel" },
    model: { type: "BPE", vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges: written },
  };
}

/** Returns the byte-level form of a text. `\xNN` escapes in it (a backslash, x, two digits) are raw bytes. */
function bytesOf(text: string): string {
  return [...text.matchAll(/\\x([0-9a-f]{2})|[\s\S]/gu)]
    .flatMap((match) =>
      match[1] === undefined ? [...new TextEncoder().encode(match[0])] : [Number.parseInt(match[1], 16)],
    )
    .map(byteCharacter)
    .join("");
}

/**
 * Returns a `tokenizer.json` in SentencePiece style: words after a visible space, unknown characters as byte tokens.
 */
export function sentencePieceBpe(): Record<string, unknown> {
  const bytes = range(0, 255).map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const tokens = ["<unk>", "<s>", "</s>", ...bytes, "\u2581", "a", "b", "c", "\u2581a", "ab"];
  return {
    version: "1.0",
    added_tokens: ["<unk>", "<s>", "</s>"].map((content, id) => ({ id, content, special: true, normalized: false })),
    normalizer: null,
    pre_tokenizer: { type: "Metaspace", replacement: "\u2581", prepend_scheme: "first", split: false },
    post_processor: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "\u2581" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      type: "BPE",
      unk_token: "<unk>",
      fuse_unk: true,
      byte_fallback: true,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [
        ["\u2581", "a"],
        ["a", "b"],
      ],
    },
  };
}
