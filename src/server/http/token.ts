import { createHash, timingSafeEqual } from "node:crypto";

/**
 * Returns a function that compares an `Authorization` header with a token, in a time that does not depend on the
 * header's content. Without a token, every header passes.
 */
export function tokenCheck(token: string | undefined): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => true;
  const expected = digest(token);
  return (authorization = "") => timingSafeEqual(digest(/^bearer\s+(.*)$/i.exec(authorization)?.[1] ?? ""), expected);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
