import { describe, expect, test } from "vitest";
import { checkProviderKey, requiredVariable, serverKey } from "../../../src/core/policy/provider-key.ts";

describe("the key of a provider", () => {
  test.each([
    ["openai", "OPENAI_API_KEY"],
    ["anthropic", "ANTHROPIC_API_KEY"],
    ["deepseek", "DEEPSEEK_API_KEY"],
    ["google", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ])("of %s is in %s, which the error names", (provider, variable) => {
    for (const variables of [{}, { [variable]: "" }, { LYCEUM_API_KEY: "another's" }]) {
      expect(() => checkProviderKey(provider, variables)).toThrow(
        expect.objectContaining({
          code: "config.invalid",
          message: expect.stringContaining(variable),
          hint: expect.stringContaining(`export ${variable}=`),
        }),
      );
    }
    expect(() => checkProviderKey(provider, { [variable]: "k" })).not.toThrow();
  });

  test("may be in another of its variables, and is not required if the provider has no usual variable", () => {
    expect(() => checkProviderKey("anthropic", { ANTHROPIC_AUTH_TOKEN: "k" })).not.toThrow();
    for (const provider of ["gateway", "amazon-bedrock", "constructor"]) {
      expect(() => checkProviderKey(provider, {})).not.toThrow();
    }
  });
});

describe("the key of a server", () => {
  test.each([
    ["https://api.openai.com/v1", "OPENAI_API_KEY"],
    ["https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"],
    ["https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"],
    ["https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"],
    ["https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"],
  ])("at %s is its provider's key, before any other", (url, variable) => {
    expect(serverKey(url, { [variable]: "own", LYCEUM_API_KEY: "another's" })).toBe("own");
    expect(serverKey(url, { LYCEUM_API_KEY: "general" })).toBe("general");
    expect(() => serverKey(url, {})).toThrow(
      expect.objectContaining({
        code: "config.invalid",
        data: { variable },
        message: expect.stringContaining(variable),
      }),
    );
  });

  test("of another address is LYCEUM_API_KEY or undefined, and never a provider's key", () => {
    const providers = { OPENAI_API_KEY: "a", DASHSCOPE_API_KEY: "b" };
    for (const url of ["http://127.0.0.1:8000/v1", "https://api.openai.com.example/v1", "nonsense"]) {
      expect(serverKey(url, providers)).toBeUndefined();
      expect(serverKey(url, { ...providers, LYCEUM_API_KEY: "k" })).toBe("k");
    }
  });
});

test("a variable that a config names must be set", () => {
  expect(requiredVariable("TEAM_KEY", { TEAM_KEY: "k" })).toBe("k");
  expect(() => requiredVariable("TEAM_KEY", {})).toThrow(expect.objectContaining({ data: { variable: "TEAM_KEY" } }));
});
