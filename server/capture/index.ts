export { type CaptureServer, type CaptureServerOptions, captureServer } from "./capture-server.ts";
export type { CaptureSession, CaptureSessionOptions } from "./capture-session.ts";
export type { CaptureDialect, CapturedCall } from "./captured-call.ts";
