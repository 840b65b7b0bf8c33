export { createByteRenderer } from "../tokens/byte-renderer.ts";
export { createByteTokenizer } from "../tokens/byte-tokenizer.ts";
export { createChatTemplateRenderer } from "../tokens/chat-template-renderer.ts";
export type { ContentMarks } from "../tokens/content-marks.ts";
export { loadTokenizer } from "../tokens/huggingface-tokenizer.ts";
export { loadRenderer } from "../tokens/load-renderer.ts";
export type { Renderer } from "../tokens/renderer.ts";
export type { Tokenizer } from "../tokens/tokenizer.ts";
