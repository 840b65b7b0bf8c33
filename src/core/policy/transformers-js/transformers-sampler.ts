import { LyceumError } from "../../../contract/errors/index.ts";
import type { Sample, SampleRequest, Sampler } from "../../../contract/sampler.ts";
import type { Tokenizer } from "../../tokens/tokenizer.ts";
import { Completion } from "../completion.ts";
import type { LibraryModel, LibraryTensor, TransformersLibrary } from "./library.ts";

/**
 * Creates a sampler that uses transformers.js, one prompt after the other. The library runs the model and manages its
 * cache. The next token is chosen here, with the seed and the settings of the request, as in Lyceum's own engine.
 */
export function transformersSampler(options: {
  readonly library: TransformersLibrary;
  readonly model: LibraryModel;
  readonly tokenizer: Tokenizer;
  readonly maxLength: number;
}): Sampler {
  return {
    specificationVersion: "v1",
    version: 0,
    sample: async function* (requests, { signal } = {}) {
      for (const [index, request] of requests.entries()) {
        signal?.throwIfAborted();
        const sample = await complete(request, { ...options, index, signal });
        signal?.throwIfAborted();
        yield sample;
      }
    },
    close: async () => {
      await options.model.dispose();
    },
  };
}

async function complete(
  request: SampleRequest,
  options: {
    readonly library: TransformersLibrary;
    readonly model: LibraryModel;
    readonly tokenizer: Tokenizer;
    readonly maxLength: number;
    readonly index: number;
    readonly signal: AbortSignal | undefined;
  },
): Promise<Sample> {
  const { library, model, tokenizer, maxLength, index, signal } = options;
  const { promptIds, settings } = request;
  const completion = new Completion({ request, index, tokenizer, maxLength });
  let sample: Sample | undefined;

  const processors = new library.LogitsProcessorList();
  processors.push((_, logits) => {
    sample = completion.advance(probabilitiesOf(logits, settings.temperature));
    return onlyToken(logits, completion.lastId);
  });
  const criteria = new library.StoppingCriteriaList();
  criteria.push(() => [sample !== undefined || signal?.aborted === true]);

  const dims = [1, promptIds.length];
  await model.generate({
    inputs: new library.Tensor("int64", BigInt64Array.from(promptIds, BigInt), dims),
    attention_mask: new library.Tensor("int64", new BigInt64Array(promptIds.length).fill(1n), dims),
    max_new_tokens: settings.maxTokens,
    logits_processor: processors,
    stopping_criteria: criteria,
    // The model's own generation settings must not change the chosen tokens.
    do_sample: false,
    eos_token_id: null,
    repetition_penalty: 1,
  });
  if (sample !== undefined || signal?.aborted === true) return sample!;
  throw new LyceumError({
    code: "policy.failed",
    message: "transformers.js ended a completion before it was complete.",
    hint: "A generation setting of the model ends it: check its generation_config.json.",
  });
}

/** Returns the softmax of logits / temperature, or of the logits at temperature 0. */
function probabilitiesOf(logits: LibraryTensor, temperature: number): Float32Array {
  const values = logits.data as Float32Array;
  const scale = temperature === 0 ? 1 : 1 / temperature;
  let peak = -Infinity;
  for (let id = 0; id < values.length; id++) if (values[id]! > peak) peak = values[id]!;
  const probabilities = new Float32Array(values.length);
  let total = 0;
  for (let id = 0; id < values.length; id++) {
    const weight = Math.exp((values[id]! - peak) * scale);
    probabilities[id] = weight;
    total += weight;
  }
  for (let id = 0; id < values.length; id++) probabilities[id]! /= total;
  return probabilities;
}

/** Sets the logits such that the library's greedy search must choose this token. */
function onlyToken(logits: LibraryTensor, id: number): LibraryTensor {
  const values = logits.data as Float32Array;
  values.fill(-Infinity);
  values[id] = 0;
  return logits;
}
