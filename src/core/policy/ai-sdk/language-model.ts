import type { LanguageModel } from "ai";

/** A model of the AI SDK, with version v2, v3 or v4 of its interface. */
export type AiSdkModel = Exclude<LanguageModel, string>;

/** The newest version of the interface. The older ones differ in a few places, which are handled there. */
export type LanguageModelV4 = Extract<AiSdkModel, { readonly specificationVersion: "v4" }>;

/** The options of a model call. */
export type CallOptions = Parameters<LanguageModelV4["doGenerate"]>[0];

/** The output of a model call. */
export type Generated = Awaited<ReturnType<LanguageModelV4["doGenerate"]>>;
