export type { TransformersLibrary } from "./library.ts";
export { type TransformersOptions, transformersPolicy } from "./transformers-policy.ts";
