import { createRandom, type Random } from "../../src/core/random/random.ts";

/** Special and added tokens of the suite's tokenizers, whole and damaged. */
const specials = [
  "<|im_start|>",
  "<|im_end|>",
  "<|endoftext|>",
  "<|begin_of_text|>",
  "<|eot_id|>",
  "<|start_header_id|>",
  "<s>",
  "</s>",
  "<unk>",
  "<think>",
  "</think>",
  "<tool_call>",
  "<0x41>",
  "<|im_start|",
  "<| im_end |>",
  "|im_end|>",
  "<|IM_END|>",
];

const words = (
  "the a of to in lesson garden number seven apples trees reading quickly slowly teacher student asked answer " +
  "because therefore running library numbers sum twenty between however nobody everything Lyceum Athens walking " +
  "under over colour naïve café façade Ελλάδα λόγος αριθμός привет число мир ответ שלום מספר مرحبا العدد नमस्ते संख्या " +
  "สวัสดี ตัวเลข 안녕하세요 숫자 こんにちは 数字 計算 你好 世界 答案 Straße İstanbul ﬁnal Ⅷ ½ x² ٣٤٥ ௧௨ ｆｕｌｌ ㎏ ﷺ"
).split(" ");

const contractions = ["'s", "'S", "'t", "'re", "'RE", "'ve", "'m", "'ll", "'LL", "'d", "’s", "'ſ", "''s", "'x", "'"];

const spaces = [
  " ",
  "  ",
  "   ",
  "\n",
  "\n\n",
  "\r\n",
  "\t",
  "\t\t ",
  " \n ",
  "\u00a0",
  "\u3000",
  "\u2028",
  "\u0085",
  "\u200b",
  "\v",
  "\f",
];

const code = [
  "function add(a, b) {\n  return a + b;\n}\n",
  "def count(items):\n    total = 0\n    for item in items:\n        total += 1\n    return total\n",
  "if (x >= 10 && y != null) { z ||= x ** 2; }",
  'SELECT name, COUNT(*) FROM "tasks" WHERE score >= 0.5 GROUP BY name;',
  "#include <stdio.h>\n\nint main(void) { return 0; }",
  "\\frac{1}{2} + \\sqrt{x^2} = $y_{i,j}$",
  '{"key": [1, 2.5e-3, null], "text": "a\\nb"}',
  "https://example.org/a?b=c&d=%20#part",
  "    deep\n        deeper\n\tmixed\n",
];

const emoji = ["🙂", "👩‍🔬", "👍🏽", "🇬🇷", "🏳️‍🌈", "❤️", "☃", "🧮", "✌🏿", "👨‍👩‍👧‍👦", "1️⃣", "™"];

/**
 * Ranges of code points whose properties have not changed since Unicode 10, including unassigned and private ones. Node
 * and the libraries of `tokenizers` implement different versions, which differ in later additions.
 */
const stableRanges: readonly (readonly [first: number, last: number])[] = [
  [0x00a0, 0x024f],
  [0x0300, 0x036f],
  [0x0370, 0x03ff],
  [0x0400, 0x052f],
  [0x05d0, 0x05ea],
  [0x0600, 0x06ff],
  [0x0900, 0x097f],
  [0x0e01, 0x0e5b],
  [0x10a0, 0x11ff],
  [0x13a0, 0x13f5],
  [0x1e00, 0x1fff],
  [0x2000, 0x206f],
  [0x2100, 0x218b],
  [0x2190, 0x23fa],
  [0x2460, 0x2bb9],
  [0x3000, 0x30ff],
  [0x3131, 0x318e],
  [0x3400, 0x4db5],
  [0x4e00, 0x9fd0],
  [0xac00, 0xd7a3],
  [0xe000, 0xfaff],
  [0xfe00, 0xfe0f],
  [0xfe70, 0xffff],
  [0x10000, 0x100fa],
  [0x1d400, 0x1d7ff],
  [0x1f300, 0x1f64f],
  [0x20000, 0x2a6d6],
  [0x40000, 0x10ffff],
];

const makers: readonly ((random: Random) => string)[] = [
  (random) => repeat(random, 12, () => random.pick(words)).join(" "),
  (random) => repeat(random, 6, () => random.pick(words) + random.pick(contractions)).join(random.pick(spaces)),
  (random) => repeat(random, 8, () => random.pick(words)).join(""),
  (random) => repeat(random, 8, () => random.pick(spaces)).join(""),
  (random) => repeat(random, 6, () => random.pick(words) + random.pick(spaces) + random.pick(spaces)).join(""),
  (random) => repeat(random, 5, () => random.pick(code)).join(random.pick(["", "\n", "\n\n\n"])),
  (random) =>
    repeat(random, 6, () => String(random.integer(0, 10 ** random.integer(1, 12)))).join(
      random.pick(["", " ", ",", ".", "+", "\n"]),
    ),
  (random) => repeat(random, 7, () => random.pick(emoji)).join(random.pick(["", " ", "a", "9"])),
  (random) =>
    repeat(random, 6, () => random.pick([random.pick(specials), random.pick(words), random.pick(spaces)])).join(""),
  (random) => repeat(random, 20, () => String.fromCharCode(random.integer(0, 0x9f))).join(""),
  (random) => repeat(random, 12, () => character(random)).join(""),
  // Letters with stacked combining marks in any order, and decomposed Hangul, which NFC reorders and composes.
  (random) =>
    repeat(
      random,
      6,
      () =>
        random.pick(["e", "A", "ο", "u", "ㄱ", "ᄀ", "가"]) +
        repeat(random, 3, () => random.pick(["\u0301", "\u0323", "\u0308", "\u0345", "ᅡ", "ᆨ", "\u3099"])).join(""),
    ).join(""),
  (random) =>
    repeat(random, 10, () => random.pick([..."!?.,;:-—…()[]{}<>/\\|@#$%^&*_=+~`\"'«»„“”¿¡。、！？"])).join(
      random.pick(["", " ", "\n"]),
    ),
  (random) => random.pick(["a", " ", "\n", "9", "🙂", "é", "'", "."]).repeat(random.integer(1, 300)),
];

/** Short texts that are hard for a tokenizer, the same for the same seed. The first ones are fixed edge cases. */
export function makeTexts(options: { readonly count: number; readonly seed: number }): string[] {
  const random = createRandom(options.seed);
  const texts = [
    "",
    " ",
    "\n",
    "a",
    "\0",
    "<|im_end|>",
    "\ufeffx",
    "\u0301",
    "▁",
    "Ġ",
    "▁▁ ▁",
    "a\u0000b",
    "\uffff",
    "\u{10ffff}",
  ];
  while (texts.length < options.count) {
    const parts = repeat(random, 2, () => random.pick(makers)(random));
    texts.push(parts.join(random.pick(["", " ", "\n"])));
  }
  return texts.slice(0, options.count);
}

/** Plain sentences to train small tokenizers on. */
export function makeCorpus(options: { readonly count: number; readonly seed: number }): string[] {
  const random = createRandom(options.seed);
  return Array.from({ length: options.count }, () => random.pick(makers.slice(0, 7))(random));
}

function repeat(random: Random, most: number, make: () => string): string[] {
  return Array.from({ length: random.integer(1, most) }, make);
}

function character(random: Random): string {
  const [first, last] = random.pick(stableRanges);
  return String.fromCodePoint(random.integer(first, last));
}
