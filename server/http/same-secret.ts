import { createHash, timingSafeEqual } from "node:crypto";

/** Compares a secret with a given text, in a time that does not depend on where they differ. */
export function sameSecret(secret: string, given: string): boolean {
  return timingSafeEqual(digest(secret), digest(given));
}

/** Returns the token of an `Authorization: Bearer` header. Empty for every other header. */
export function bearerToken(authorization: string | null | undefined): string {
  return /^bearer\s+(.*)$/i.exec(authorization ?? "")?.[1]?.trim() ?? "";
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
