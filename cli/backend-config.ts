import { z } from "zod";
import type { Encoding, GradientRule } from "../trainers/backends/tinker/index.ts";

/** The engine that trains. The schema below describes each key. */
export type BackendConfig =
  | { readonly type: "onnx"; readonly quantize?: 4 | 8 | undefined }
  | {
      readonly type: "torch";
      readonly python?: string | undefined;
      readonly precision?: "float32" | "bfloat16" | "float16" | undefined;
      readonly recompute: boolean;
      readonly quantize?: 4 | 8 | undefined;
      readonly decodeBatchSize?: number | undefined;
      readonly sampler?: "torch" | "vllm" | undefined;
      readonly samplerMemory?: number | undefined;
      readonly compile?: boolean | undefined;
      readonly processes?: number | undefined;
      readonly strategy?: "ddp" | "fsdp" | undefined;
      readonly nodes?: number | undefined;
      readonly rendezvous?: string | undefined;
    }
  | {
      readonly type: "tinker";
      readonly url: string;
      readonly model?: string | undefined;
      readonly gradients: GradientRule | "auto";
      readonly encoding: Encoding | "auto";
    };

const quantizeSchema = z.union([z.literal(4), z.literal(8)]).optional();

/** The schema of the section `backend`. */
export const backendConfigSchema: z.ZodType<BackendConfig> = z
  .discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("onnx").describe("The embedded engine on this machine."),
      quantize: quantizeSchema.describe("Bits of the frozen weights under an adapter, on the CPU: 4 or 8."),
    }),
    z.strictObject({
      type: z.literal("torch").describe("PyTorch on this machine, in a Python process. See gpu.md."),
      python: z
        .string()
        .min(1)
        .optional()
        .describe("The Python interpreter. LYCEUM_PYTHON, the one of `lyceum setup torch`, or python3 when absent."),
      precision: z
        .enum(["float32", "bfloat16", "float16"])
        .optional()
        .describe(
          "Precision of matrix products and frozen weights. bfloat16 on a card that has it, else float32, when absent.",
        ),
      recompute: z
        .boolean()
        .default(false)
        .describe("Compute activations again in the backward pass: less memory, about a third more time."),
      quantize: quantizeSchema.describe(
        "Bits of the frozen weights under an adapter, by the Python package bitsandbytes: 4 or 8.",
      ),
      decodeBatchSize: z
        .int()
        .min(1)
        .optional()
        .describe("Completions that a process decodes at a time. 32 on a CPU, 256 on a card, when absent."),
      sampler: z
        .enum(["torch", "vllm"])
        .default("torch")
        .describe("What samples: PyTorch, or the Python package vllm with a copy of the frozen weights."),
      samplerMemory: z
        .number()
        .positive()
        .optional()
        .describe("GiB of memory for the keys and values of vLLM. 4 when absent."),
      compile: z
        .boolean()
        .default(false)
        .describe("Compile the decoding step by torch.compile: CUDA graphs on a card. The first tokens take minutes."),
      processes: z.int().min(1).default(1).describe("The processes on this machine, one for each card."),
      strategy: z
        .enum(["ddp", "fsdp"])
        .optional()
        .describe(
          "How several processes hold the model: ddp, the whole in each, or fsdp, a part of each layer. ddp when absent.",
        ),
      nodes: z.int().min(1).default(1).describe("The machines. Start `lyceum torch-node` on each other one."),
      rendezvous: z
        .string()
        .regex(/^[\w.:[\]-]+:\d+$/, "Give an address and a port, such as 10.0.0.1:29500.")
        .optional()
        .describe("The address and port of this machine, at which the processes of several machines meet."),
    }),
    z.strictObject({
      type: z
        .literal("tinker")
        .describe("A server of the Tinker API. TINKER_API_KEY has its key. See remote-training.md."),
      url: z
        .url({ protocol: /^https?$/ })
        .describe("The address of the server, such as http://127.0.0.1:8000. On the command line: --backend-url."),
      model: z
        .string()
        .min(1)
        .optional()
        .describe("The server's name of the base model, if it differs from model.path."),
      gradients: z
        .enum(["auto", "sum", "mean"])
        .default("auto")
        .describe(
          "How the server makes a gradient of token losses: sum, as the API says, or mean over the sequences of a step. auto finds out with a small adapter.",
        ),
      encoding: z
        .enum(["auto", "json", "protobuf"])
        .default("auto")
        .describe("The encoding of data and results. auto takes the one that the server prefers."),
    }),
  ])
  .check(({ value, issues }) => {
    if (value.type !== "torch") return;
    const { processes = 1, nodes = 1, strategy, rendezvous, quantize, sampler, samplerMemory, compile } = value;
    const refuse = (key: string, message: string): void => {
      issues.push({ code: "custom", input: value, path: [key], message });
    };
    if (strategy !== undefined && processes * nodes === 1) {
      refuse(
        "strategy",
        "A strategy needs several processes. Set processes to the number of cards, or remove strategy.",
      );
    }
    if (strategy === "fsdp" && quantize !== undefined) {
      refuse("quantize", "Quantized weights cannot be sharded. Remove quantize, or set strategy to ddp.");
    }
    if (sampler === "vllm" && processes * nodes > 1) {
      refuse("sampler", "vLLM samples in one process. Remove sampler, or remove processes and nodes.");
    }
    if (sampler === "vllm" && quantize !== undefined) {
      refuse("sampler", "vLLM cannot read the quantized weights. Remove sampler or quantize.");
    }
    if (sampler !== "vllm" && samplerMemory !== undefined) {
      refuse("samplerMemory", "Only vLLM needs this memory. Set sampler to vllm, or remove samplerMemory.");
    }
    if (compile === true && sampler === "vllm") {
      refuse("compile", "vLLM has its own decoding step. Remove compile or sampler.");
    }
    if (compile === true && strategy === "fsdp") {
      refuse(
        "compile",
        "The decoding step of sharded weights is not compiled. Remove compile, or set strategy to ddp.",
      );
    }
    if (nodes > 1 && rendezvous === undefined) {
      refuse("nodes", "Several machines need the address of this one. Set rendezvous, such as 10.0.0.1:29500.");
    }
    if (nodes === 1 && rendezvous !== undefined) {
      refuse(
        "rendezvous",
        "One machine needs no rendezvous. Set nodes to the number of machines, or remove rendezvous.",
      );
    }
  })
  .describe(
    "The engine that trains: onnx (embedded), torch (PyTorch on this machine) or a Tinker server. On the command line: --backend.",
  );
