export { type AiSdkOptions, aiSdkPolicy } from "./ai-sdk-policy.ts";
export type { AiSdkModel } from "./language-model.ts";
export { providerModel } from "./provider-model.ts";
