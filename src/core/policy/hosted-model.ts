import { LyceumError } from "../../contract/errors/index.ts";

/** Models that only a provider runs, by how their names begin, and the names by which they are asked for here. */
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

/** Where the models of some names that are no provider packages are asked. */
const addresses: Readonly<Record<string, string>> = {
  dashscope: "https://dashscope.aliyuncs.com/compatible-mode/v1",
  ollama: "http://127.0.0.1:11434/v1",
  openrouter: "https://openrouter.ai/api/v1",
  qwen: "https://dashscope.aliyuncs.com/compatible-mode/v1",
  vllm: "http://127.0.0.1:8000/v1",
};

/** The name of a model at its address, for `dashscope:MODEL` and the like. Undefined for any other provider. */
export function addressOf(provider: string, model: string): string | undefined {
  return Object.hasOwn(addresses, provider) ? `${addresses[provider]}#${model}` : undefined;
}

/**
 * The error for a bare name, such as `deepseek-coder`, of a model that only a provider runs: it says by which name the
 * model is asked for. Undefined for any other name; that of a folder that exists is not asked about.
 */
export function hostedModelError(name: string): LyceumError | undefined {
  const found = hosted.find(({ pattern }) => pattern.test(name));
  if (found === undefined || /[/\\:]/.test(name)) return undefined;
  const names = found.names(name);
  return new LyceumError({
    code: "config.invalid",
    message: `"${name}" is a model that ${found.provider} serves, and no folder or hub id.`,
    hint: `Name it with its provider: ${names.join(", or ")}. The key comes from the provider's variable; see policies.md.`,
    data: { name, names: [...names] },
  });
}
