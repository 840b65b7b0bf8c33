import { LyceumError } from "../../contract/errors/index.ts";

/** Models that only a provider serves: the pattern of their names, and the full names to use for them. */
const hosted: readonly {
  readonly pattern: RegExp;
  readonly provider: string;
  readonly names: (model: string) => readonly string[];
}[] = [
  {
    pattern: /^deepseek-/i,
    provider: "DeepSeek",
    names: (model) => [`deepseek:${model}`, `https://api.deepseek.com/v1#${model}`],
  },
  { pattern: /^(gpt-|chatgpt-|o\d(-|$))/i, provider: "OpenAI", names: (model) => [`openai:${model}`] },
  { pattern: /^claude-/i, provider: "Anthropic", names: (model) => [`anthropic:${model}`] },
  { pattern: /^gemini-/i, provider: "Google", names: (model) => [`google:${model}`] },
  { pattern: /^(mistral|codestral|magistral)-/i, provider: "Mistral", names: (model) => [`mistral:${model}`] },
  { pattern: /^grok-/i, provider: "xAI", names: (model) => [`xai:${model}`] },
  {
    pattern: /^qwen[\w.]*-(coder|max|plus|turbo|flash|long)/i,
    provider: "DashScope",
    names: (model) => [`https://dashscope.aliyuncs.com/compatible-mode/v1#${model}`],
  },
];

/** The addresses of providers and servers without an `@ai-sdk` package. */
const addresses: Readonly<Record<string, string>> = {
  dashscope: "https://dashscope.aliyuncs.com/compatible-mode/v1",
  ollama: "http://127.0.0.1:11434/v1",
  openrouter: "https://openrouter.ai/api/v1",
  qwen: "https://dashscope.aliyuncs.com/compatible-mode/v1",
  vllm: "http://127.0.0.1:8000/v1",
};

/** Returns the address of a model, for names such as `dashscope:MODEL`. Undefined for any other provider. */
export function addressOf(provider: string, model: string): string | undefined {
  return Object.hasOwn(addresses, provider) ? `${addresses[provider]}#${model}` : undefined;
}

/**
 * Returns the error for the bare name of a model that only a provider serves, such as `deepseek-coder`. The error
 * contains the full name to use. Undefined for any other name. Call it only for names that are not an existing folder.
 */
export function hostedModelError(name: string): LyceumError | undefined {
  const found = hosted.find(({ pattern }) => pattern.test(name));
  if (found === undefined || /[/\\:]/.test(name)) return undefined;
  const names = found.names(name);
  return new LyceumError({
    code: "config.invalid",
    message: `"${name}" is a model that ${found.provider} serves. It is not a folder or a hub id.`,
    hint: `Include its provider in the name: ${names.join(", or ")}. The key is read from the provider's environment variable: see policies.md.`,
    data: { name, names: [...names] },
  });
}
