export { createByteRenderer } from "../core/tokens/byte-renderer.ts";
export { createByteTokenizer } from "../core/tokens/byte-tokenizer.ts";
export { createChatTemplateRenderer } from "../core/tokens/chat-template-renderer.ts";
export type { ContentMarks } from "../core/tokens/content-marks.ts";
export { loadTokenizer } from "../core/tokens/huggingface-tokenizer.ts";
export { loadRenderer } from "../core/tokens/load-renderer.ts";
export type { Renderer } from "../core/tokens/renderer.ts";
export type { Tokenizer } from "../core/tokens/tokenizer.ts";
