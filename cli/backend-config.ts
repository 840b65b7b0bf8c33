import { z } from "zod";
import type { Encoding, GradientRule } from "../trainers/backends/tinker/index.ts";

/** The engine that trains. The schema below describes each key. */
export type BackendConfig =
  | { readonly type: "onnx" }
  | {
      readonly type: "torch";
      readonly python?: string | undefined;
      readonly precision?: "float32" | "bfloat16" | undefined;
      readonly recompute: boolean;
      readonly decodeBatchSize?: number | undefined;
    }
  | {
      readonly type: "tinker";
      readonly url: string;
      readonly model?: string | undefined;
      readonly gradients: GradientRule | "auto";
      readonly encoding: Encoding | "auto";
    };

/** The schema of the section `backend`. */
export const backendConfigSchema: z.ZodType<BackendConfig> = z
  .discriminatedUnion("type", [
    z.strictObject({ type: z.literal("onnx").describe("The embedded engine on this machine.") }),
    z.strictObject({
      type: z.literal("torch").describe("PyTorch on this machine, in a Python process. See gpu.md."),
      python: z
        .string()
        .min(1)
        .optional()
        .describe("The Python interpreter. LYCEUM_PYTHON, the one of `lyceum setup torch`, or python3 when absent."),
      precision: z
        .enum(["float32", "bfloat16"])
        .optional()
        .describe(
          "Precision of matrix products and frozen weights. bfloat16 on a card that has it, else float32, when absent.",
        ),
      recompute: z
        .boolean()
        .default(false)
        .describe("Compute activations again in the backward pass: less memory, about a third more time."),
      decodeBatchSize: z
        .int()
        .min(1)
        .optional()
        .describe("Completions that are decoded at a time. 32 on a CPU, 256 on a card, when absent."),
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
  .describe(
    "The engine that trains: onnx (embedded), torch (PyTorch on this machine) or a Tinker server. On the command line: --backend.",
  );
