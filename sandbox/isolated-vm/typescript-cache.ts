import { createHash } from "node:crypto";
import { stripTypeScriptTypes } from "node:module";

const maxCached = 256;

/** Converts TypeScript to JavaScript and caches the results, because samples of a group are often equal. */
export class TypeScriptCache {
  readonly #javascript = new Map<string, string>();
  #isBroken = false;

  /** True if Node's converter has failed in this process. It then fails for any code. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /**
   * Converts TypeScript to JavaScript. Types are replaced by blanks, so that lines and columns stay the same. Code with
   * enums and similar is rewritten. Types are not checked. Throws a SyntaxError.
   */
  javascriptOf(source: string): string {
    const key = createHash("sha256").update(source).digest("base64");
    const known = this.#javascript.get(key);
    if (known !== undefined) return known;
    const javascript = this.#strip(source);
    if (this.#javascript.size === maxCached) this.#javascript.delete(this.#javascript.keys().next().value!);
    this.#javascript.set(key, javascript);
    return javascript;
  }

  #strip(source: string): string {
    try {
      return strip(source);
    } catch (error) {
      if (/^ERR_(INVALID|UNSUPPORTED)_TYPESCRIPT_SYNTAX$/.test(String((error as { code?: unknown }).code))) throw error;
      this.#isBroken = true;
      throw new SyntaxError("The code is nested too deeply to be read as TypeScript.");
    }
  }
}

function strip(source: string): string {
  try {
    return stripTypeScriptTypes(source);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    return stripTypeScriptTypes(source, { mode: "transform" });
  }
}
