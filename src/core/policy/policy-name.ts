import { LyceumError } from "../../contract/errors/index.ts";

/** The parsed name of a policy, such as the value of `--model`. */
export type PolicyName =
  /** A checkpoint of a run, a Hugging Face folder or a hub id, on the embedded engine. */
  | { readonly kind: "engine"; readonly path: string }
  /** A server with OpenAI's chat API. Without a model, the server must serve exactly one. */
  | { readonly kind: "server"; readonly url: string; readonly model?: string }
  /** A model of the AI SDK's package `@ai-sdk/<provider>`. */
  | { readonly kind: "provider"; readonly provider: string; readonly model: string }
  /** A hub id or a folder with ONNX files, for transformers.js. `dtype` is its precision, such as "q4". */
  | { readonly kind: "transformers-js"; readonly model: string; readonly dtype?: string }
  /** A file with answers: JSON or a module. */
  | { readonly kind: "scripted"; readonly path: string }
  /** A trace whose actions are repeated. */
  | { readonly kind: "replay"; readonly path: string }
  /** The environment's own expert. */
  | { readonly kind: "demonstration" };

/**
 * Parses a policy's name: `demonstration`, `scripted:FILE`, `replay:TRACE`, `http://HOST/v1#MODEL` (also with the
 * prefix `openai-compatible:`), `transformers:ID#DTYPE`, `PROVIDER:MODEL`, or else a path or hub id. Throws
 * `config.invalid` for a prefix without a name.
 */
export function parsePolicyName(name: string): PolicyName {
  if (name === "demonstration") return { kind: "demonstration" };
  // At least two letters, because one letter is a drive.
  const match = /^([a-zA-Z][\w.-]+):(.*)$/.exec(name);
  if (match === null) return { kind: "engine", path: name };
  const [, prefix, rest] = match as unknown as [string, string, string];
  if (rest === "") throw missingName(name);
  switch (prefix) {
    case "http":
    case "https":
      return server(name);
    case "openai-compatible":
      return server(rest);
    case "scripted":
    case "replay":
      return { kind: prefix, path: rest };
    case "transformers": {
      const [model, dtype] = split(rest);
      return { kind: "transformers-js", model, ...(dtype === undefined ? {} : { dtype }) };
    }
    default:
      return { kind: "provider", provider: prefix, model: rest };
  }
}

function server(address: string): PolicyName {
  const [url, model] = split(address);
  return { kind: "server", url, ...(model === undefined ? {} : { model }) };
}

/** Splits a text at its first `#`. */
function split(text: string): readonly [before: string, after?: string] {
  const at = text.indexOf("#");
  return at < 0 || at === text.length - 1 ? [text.replace(/#$/, "")] : [text.slice(0, at), text.slice(at + 1)];
}

function missingName(name: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `"${name}" does not name a model.`,
    hint: "Examples: openai:gpt-5-mini, http://127.0.0.1:8000/v1#model, replay:episodes.jsonl, or a model's folder.",
    data: { name },
  });
}
