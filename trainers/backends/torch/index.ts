export { createTorchBackend, type TorchBackendOptions } from "./backend.ts";
