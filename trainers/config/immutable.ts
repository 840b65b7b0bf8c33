import type { Json } from "../../src/contract/json.ts";

/** A type in which all properties and arrays are read-only, at any depth. JSON of any shape is left unchanged. */
export type Immutable<T> = Json extends T ? T : T extends object ? { readonly [Key in keyof T]: Immutable<T[Key]> } : T;
