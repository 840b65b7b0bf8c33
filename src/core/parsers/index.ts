export { type CodeBlock, codeBlocks } from "./code-blocks.ts";
export { extractBoxed, untilClosingBrace, withBracedBoxes } from "./extract-boxed.ts";
export { extractCode } from "./extract-code.ts";
export { extractJson } from "./extract-json.ts";
export { extractTag } from "./extract-tag.ts";
