import { describe, expect, it } from "vitest";
import { errorText } from "../../../cli/error-text.ts";
import { trackerConfigsSchema } from "../../../reports/trackers/tracker-config.ts";
import type { Json } from "../../../src/contract/json.ts";
import { apiUrl } from "../../../src/core/policy/openai-compatible/api-url.ts";
import { namedSecrets, withoutSecretValues, withoutUrlSecrets } from "../../../src/core/text/secrets.ts";

describe("withoutUrlSecrets", () => {
  it.each([
    ["http://h/v1?key=S3#m", "http://h/v1?key=***#m"],
    ["openai-compatible:https://h:8/v1?a=S3&b=S3=x&c", "openai-compatible:https://h:8/v1?a=***&b=***&***"],
    ["HTTP://u:S3@h/p", "HTTP://***@h/p"],
    ["https://S3@h", "https://***@h"],
    ["https://u:p@S3@h/x?S3", "https://***@h/x?***"],
    ['asked "http://h/?q=S3" and https://h/?t=S3.', 'asked "http://h/?q=***" and https://h/?t=***'],
    ["wss://h/s?token=S3", "wss://h/s?token=***"],
    ["http://h/?key[]=S3&key[]=S3", "http://h/?key[]=***&key[]=***"],
    ["https://h/sk-S3abcdefghijklmnop0/v1#m", "https://h/***/v1#m"],
    ["https://h/hooks/9c858901-8a57-4791-81fe-4c455b099bc9?a=S3", "https://h/hooks/***?a=***"],
    ["at http://h/v1/S3abcdefghijklmnop0123/", "at http://h/v1/***/"],
  ])("hides the secrets of %s", (text, shown) => {
    expect(withoutUrlSecrets(text)).toBe(shown);
    expect(withoutUrlSecrets(shown)).toBe(shown);
  });

  it.each([
    "http://127.0.0.1:8000/v1#org/model",
    "is it? key=value",
    "a@b.c",
    "runs/a?b=c",
    "http://h/?",
    "x://",
    "https://h/v1/models/qwen2-5-coder-32b-instruct-awq",
    "https://h/org/model-2024-07-18/resolve/0123456789abcdef0123456789abcdef01234567/model.safetensors",
    "https://h/openai/deployments/gpt-4o-mini-2024-07-18",
  ])("leaves %s as it is", (text) => expect(withoutUrlSecrets(text)).toBe(text));
});

it("withoutSecretValues hides literal headers and variables, and addresses at any depth", () => {
  const options: Json = {
    mcp: [
      { url: "http://h/mcp?token=S3", headers: { authorization: "Bearer S3", "x-key": "$KEY" } },
      { command: "run", args: ["--at", "http://u:S3@h"], env: { KEY: "S3", OTHER: "$OTHER", N: 3 } },
    ],
    headers: ["a"],
    seed: 1,
    none: null,
  };
  const shown = withoutSecretValues(options);
  expect(JSON.stringify(shown)).not.toContain("S3");
  expect(shown).toMatchObject({
    mcp: [
      { url: "http://h/mcp?token=***", headers: { authorization: "***", "x-key": "$KEY" } },
      { args: ["--at", "http://***@h"], env: { KEY: "***", OTHER: "$OTHER" } },
    ],
    headers: ["a"],
    seed: 1,
    none: null,
  });
});

it("withoutSecretValues hides texts whose names say that they are secret, and no others", () => {
  const secret = {
    apiKey: "S3",
    api_key: "S3",
    "X-Api-Key": "S3",
    access_token: "S3",
    hf: { authToken: "S3", token: "S3", clientSecret: "S3", password: "S3", Authorization: "Bearer S3" },
    list: [{ aws_secret_access_key: "S3" }],
  };
  expect(JSON.stringify(withoutSecretValues(secret))).not.toContain("S3");
  expect(JSON.stringify(withoutSecretValues(secret)).match(/\*\*\*/g)).toHaveLength(10);
  expect(namedSecrets(secret)).toHaveLength(10);
  const plain = {
    apiKeyVariable: "MY_KEY",
    apiKey: "$MY_KEY",
    tokens: 3,
    maxTokens: 4,
    eos_token: "<|end|>",
    key: "level",
    secret: true,
  };
  expect(withoutSecretValues(plain)).toEqual(plain);
});

it("errors on the terminal show no secret of an address", () => {
  const error = new Error("nothing at http://u:S3@h/v1?key=S3");
  expect(errorText(error, { debug: true })).not.toContain("S3");
  expect(() => apiUrl("ftp://h/?key=S3", "models")).toThrow(/^"ftp:\/\/h\/\?key=\*\*\*" is not the URL of a server/);
  expect(() => apiUrl("http://u:S3@h", "models")).toThrow(/^The URL of h contains a password\.$/);
});

it.each(["http://u:p@h", "http://h?token=x"])("the address of a tracker has no credentials: %s", (url) => {
  expect(trackerConfigsSchema.safeParse([{ type: "mlflow", url, experiment: "e" }]).success).toBe(false);
});
