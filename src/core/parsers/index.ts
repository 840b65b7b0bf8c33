export { extractBoxed, untilClosingBrace } from "./extract-boxed.ts";
export { type CodeBlock, codeBlocks, extractCode } from "./extract-code.ts";
export { extractJson } from "./extract-json.ts";
export { extractTag } from "./extract-tag.ts";
