import { createRequire } from "node:module";
import { LyceumError } from "../../../../src/contract/errors/index.ts";

/**
 * Loads ONNX Runtime on first use. It is an optional dependency, so npm continues if its installation fails. Throws
 * `backend.unsupported` if it is not installed or does not load.
 */
export async function importRuntime(): Promise<typeof import("onnxruntime-node")> {
  checkRuntime();
  try {
    return await import("onnxruntime-node");
  } catch (cause) {
    throw new LyceumError({
      code: "backend.unsupported",
      message: `ONNX Runtime is installed but does not load: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: "Install it again for this platform: rm -r node_modules/onnxruntime-node, then ONNXRUNTIME_NODE_INSTALL=skip npm install.",
      cause,
    });
  }
}

/**
 * Throws `backend.unsupported` if ONNX Runtime is not installed. Does not load it. Turns off its telemetry, which is on
 * by default, for this process and those that it starts. Called in the main thread before a thread loads it, because
 * native code does not see the variables that a thread sets.
 */
export function checkRuntime(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= "1";
  try {
    createRequire(import.meta.url).resolve("onnxruntime-node");
  } catch (cause) {
    throw new LyceumError({
      code: "backend.unsupported",
      message: "ONNX Runtime (the package onnxruntime-node) is not installed, and the embedded engine needs it.",
      hint: "Run ONNXRUNTIME_NODE_INSTALL=skip npm install in your project; docs/install.md of the package lists the reasons why it can be missing.",
      cause,
    });
  }
}
