import { hash } from "node:crypto";
import { canonicalJson } from "./canonical-json.ts";

/** Returns the SHA-256 of the canonical JSON of a value, in hexadecimal. Equal content gives equal hashes. */
export function contentHash(value: unknown): string {
  return hash("sha256", canonicalJson(value));
}
