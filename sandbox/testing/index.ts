export { type SandboxSubject, sandboxConformance } from "./sandbox-conformance.ts";
