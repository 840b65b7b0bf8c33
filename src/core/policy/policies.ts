import { z } from "zod";
import { LyceumError } from "../../contract/errors/index.ts";
import { createRegistry, type Registry } from "../registry.ts";
import { readTrace } from "../trace/read-trace.ts";
import { providerDefinition } from "./ai-sdk/provider-definition.ts";
import { definePolicy, type PolicyDefinition } from "./define-policy.ts";
import { demonstrationPolicy } from "./demonstration-policy.ts";
import { serverDefinition } from "./openai-compatible/server-definition.ts";
import { knownProviders } from "./provider-key.ts";
import { replayPolicy } from "./replay-policy.ts";
import { scriptFile } from "./script-file.ts";
import { splitAddress } from "./split-address.ts";

/** The kinds of policies that a config can name, without local models, which need the engine. */
export const policies: Registry<PolicyDefinition> = createRegistry("policy", [
  serverDefinition,
  definePolicy({
    id: "transformers",
    description: "A hub model or a folder with ONNX files, run by transformers.js. DTYPE is its precision, such as q4.",
    address: "MODEL#DTYPE",
    options: z.object({}),
    open: async (_options, { address, name = `transformers:${address}`, completion, signal }) => {
      const { transformersPolicy } = await import("./transformers-js/index.ts");
      const [model, dtype] = splitAddress(address);
      return transformersPolicy({ model, dtype, name, completion, signal });
    },
  }),
  definePolicy({
    id: "scripted",
    description: "Answers from a file: JSON with a list of answers, or a module.",
    address: "FILE",
    options: z.object({}),
    without: ["sampling"],
    open: (_options, { address }) => scriptFile(address),
  }),
  definePolicy({
    id: "replay",
    description: "The actions of a trace, once more.",
    address: "TRACE",
    options: z.object({}),
    without: ["sampling", "program"],
    open: (_options, { address, name = `replay:${address}`, signal }) =>
      replayPolicy(readTrace(address, { signal }), { name }),
  }),
  definePolicy({
    id: "demonstration",
    description: "The environment's own expert.",
    options: z.object({}),
    without: ["sampling"],
    forEnvironment: true,
    open: (_options, { environment }) => {
      if (environment?.demonstrate !== undefined) return demonstrationPolicy({ environment });
      throw new LyceumError({
        code: "policy.unsupported-input",
        message:
          environment === undefined
            ? "Demonstrations need an environment, but there is none."
            : `Environment "${environment.spec.id}" has no demonstrations.`,
        hint: "Add a demonstrate function to the environment, or let a model play.",
      });
    },
  }),
  ...knownProviders.map(providerDefinition),
]);
