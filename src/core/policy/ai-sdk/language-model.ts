import type { LanguageModel } from "ai";

/** A model of the AI SDK, of any version of its interface that there is: v2, v3 or v4. */
export type AiSdkModel = Exclude<LanguageModel, string>;

/** The newest interface; the older ones differ in few places, which are handled where they matter. */
export type LanguageModelV4 = Extract<AiSdkModel, { readonly specificationVersion: "v4" }>;

/** What a model is called with. */
export type CallOptions = Parameters<LanguageModelV4["doGenerate"]>[0];

/** What it generates. */
export type Generated = Awaited<ReturnType<LanguageModelV4["doGenerate"]>>;
