import { describe, expect, it } from "vitest";
import { backendConfigSchema } from "../../cli/backend-config.ts";

/** The keys that are refused, with the first problem of each. */
function refused(backend: Readonly<Record<string, unknown>>): (readonly [key: string, message: string])[] {
  const { error } = backendConfigSchema.safeParse(backend);
  return (error?.issues ?? []).map(({ path, message }) => [path.join("."), message]);
}

describe("the keys of backend: torch", () => {
  it.each([
    [{}],
    [{ processes: 2, strategy: "fsdp" }],
    [{ sampler: "vllm" }],
    [{ sampler: "vllm", samplerMemory: 0.5 }],
    [{ nodes: 2, rendezvous: "10.0.0.1:29500" }],
  ])("fit together: %j", (keys) => {
    expect(refused({ type: "torch", ...keys })).toEqual([]);
  });

  it.each([
    [{ processes: 0 }, "processes", /1/],
    [{ strategy: "ddp" }, "strategy", /several processes/],
    [{ processes: 2, strategy: "fsdp", quantize: 4 }, "quantize", /sharded/],
    [{ nodes: 2 }, "nodes", /rendezvous/],
    [{ rendezvous: "10.0.0.1:29500" }, "rendezvous", /nodes/],
    [{ sampler: "sglang" }, "sampler", /vllm/],
    [{ sampler: "vllm", processes: 2 }, "sampler", /one process/],
    [{ sampler: "vllm", nodes: 2, rendezvous: "10.0.0.1:29500" }, "sampler", /one process/],
    [{ sampler: "vllm", quantize: 8 }, "sampler", /quantized/],
    [{ sampler: "vllm", compile: true }, "compile", /vLLM/],
    [{ processes: 2, strategy: "fsdp", compile: true }, "compile", /sharded/],
    [{ samplerMemory: 8 }, "samplerMemory", /sampler to vllm/],
    [{ sampler: "vllm", samplerMemory: 0 }, "samplerMemory", /0/],
  ])("are refused where they do not: %j", (keys, key, message) => {
    expect(refused({ type: "torch", ...keys })).toEqual([[key, expect.stringMatching(message)]]);
  });
});
