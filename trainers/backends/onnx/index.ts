export { createOnnxBackend, type OnnxBackendOptions } from "./backend.ts";
export type { Device } from "./engine/session.ts";
export type { Precision } from "./graph/graph.ts";
