import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Architecture, Bias } from "./architecture.ts";

/** Reads values of a `config.json` by Llama's key names. Errors show the model's own key names. */
export class ConfigFields {
  readonly #source: Readonly<Record<string, unknown>>;
  readonly #architecture: Pick<Architecture, "keys" | "defaults">;

  constructor(source: Readonly<Record<string, unknown>>, architecture: Pick<Architecture, "keys" | "defaults">) {
    this.#source = source;
    this.#architecture = architecture;
  }

  /** Returns a positive integer. */
  size(name: string, fallback?: number): number {
    const value = this.number(name, fallback);
    if (!Number.isSafeInteger(value))
      throw malformedConfig(`${this.#keyOf(name)} must be an integer, but it is ${value}`);
    return value;
  }

  /** Returns a positive number. */
  number(name: string, fallback?: number): number {
    const value = this.#value(name) ?? fallback;
    if (value === undefined) throw malformedConfig(`${this.#keyOf(name)} is missing`);
    if (typeof value !== "number" || !(value > 0) || (value === Infinity && value !== fallback))
      throw malformedConfig(
        `${this.#keyOf(name)} must be a positive number, but it is ${JSON.stringify(value) ?? String(value)}`,
      );
    return value;
  }

  text(name: string): string {
    return String(this.#value(name));
  }

  /** True only if the value is `true`. */
  flag(name: string): boolean {
    return this.#value(name) === true;
  }

  bias(bias: Bias): boolean {
    return typeof bias === "boolean" ? bias : this.flag(bias);
  }

  #value(name: string): unknown {
    return this.#source[this.#keyOf(name)] ?? this.#architecture.defaults[name];
  }

  #keyOf(name: string): string {
    return this.#architecture.keys?.[name] ?? name;
  }
}

/** Creates the error for a `config.json` with invalid or contradictory values. */
export function malformedConfig(what: string): LyceumError {
  return new LyceumError({
    code: "model.malformed",
    message: `The model's config.json cannot be used: ${what}.`,
    hint: "Compare it with the config.json that the model was published with.",
  });
}

/** Creates the error for a `config.json` that needs a computation that the engine does not have. */
export function unsupportedConfig(what: string, why: string): LyceumError {
  return new LyceumError({
    code: "model.unsupported",
    message: `The model's config.json sets ${what}, which the embedded engine does not support: ${why}.`,
    hint: "Choose another checkpoint, or use backend torch, which opens what transformers opens.",
  });
}
