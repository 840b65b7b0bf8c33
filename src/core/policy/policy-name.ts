import { LyceumError } from "../../contract/errors/index.ts";

/** What a name such as that of `--model` stands for. */
export type PolicyName =
  /** A checkpoint of a run, a Hugging Face folder, or a hub id, on the embedded engine. */
  | { readonly kind: "engine"; readonly path: string }
  /** A server that speaks OpenAI's chat protocol; without a model, the only one that it serves. */
  | { readonly kind: "server"; readonly url: string; readonly model?: string }
  /** A model of the AI SDK's package `@ai-sdk/<provider>`. */
  | { readonly kind: "provider"; readonly provider: string; readonly model: string }
  /** A hub id or a folder with ONNX files, run by transformers.js; `dtype` names its precision, such as "q4". */
  | { readonly kind: "transformers-js"; readonly model: string; readonly dtype?: string }
  /** A file with answers: JSON, or a module. */
  | { readonly kind: "scripted"; readonly path: string }
  /** A trace to act as. */
  | { readonly kind: "replay"; readonly path: string }
  /** The environment's own expert. */
  | { readonly kind: "demonstration" };

/**
 * Reads a policy's name: `demonstration`, `scripted:FILE`, `replay:TRACE`, `http://HOST/v1#MODEL` (also with
 * `openai-compatible:` before it), `transformers:ID#DTYPE`, `PROVIDER:MODEL`, else a path or hub id. Throws
 * `config.invalid` for a prefix with nothing behind it.
 */
export function parsePolicyName(name: string): PolicyName {
  if (name === "demonstration") return { kind: "demonstration" };
  // Two letters or more: one is a drive.
  const match = /^([a-zA-Z][\w.-]+):(.*)$/.exec(name);
  if (match === null) return { kind: "engine", path: name };
  const [, prefix, rest] = match as unknown as [string, string, string];
  if (rest === "") throw nothingBehind(name);
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

/** What stands before and after the first `#`. */
function split(text: string): readonly [before: string, after?: string] {
  const at = text.indexOf("#");
  return at < 0 || at === text.length - 1 ? [text.replace(/#$/, "")] : [text.slice(0, at), text.slice(at + 1)];
}

function nothingBehind(name: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `"${name}" names no model.`,
    hint: "Such as openai:gpt-5-mini, http://127.0.0.1:8000/v1#model, replay:episodes.jsonl, or a model's folder.",
    data: { name },
  });
}
