import type { SampledModel } from "../../src/core/policy/sampled-model.ts";
import { EventQueue } from "../../src/core/rollout/event-queue.ts";
import { type ChoicePart, ChoiceParts } from "./choice-part.ts";
import { type ChoiceRequest, sampleChoices } from "./sample-choices.ts";

/**
 * Samples the choices of a request and yields their pieces as soon as they are settled. Each choice ends with a piece
 * that has it. If the sampler does not report tokens as asked, this is its only piece. Throws as `sampleChoices` does.
 */
export async function* streamChoices(
  model: SampledModel,
  request: ChoiceRequest,
  signal: AbortSignal,
): AsyncGenerator<ChoicePart> {
  const stop = new AbortController();
  const queue = new EventQueue<ChoicePart>(Infinity);
  const choices = new Map<number, ChoiceParts>();
  const partsOf = (index: number): ChoiceParts => {
    const found = choices.get(index) ?? new ChoiceParts({ index, model, request });
    choices.set(index, found);
    return found;
  };
  const sample = async (): Promise<void> => {
    const sampled = sampleChoices(model, request, {
      signal: AbortSignal.any([signal, stop.signal]),
      onSampled: (tokens) => {
        for (const token of tokens) {
          const part = partsOf(token.request).add(token);
          if (part !== undefined) queue.push(part);
        }
      },
    });
    for await (const choice of sampled) queue.push(partsOf(choice.index).end(choice));
  };
  void sample().then(
    () => queue.end(),
    (error) => queue.end(error),
  );
  try {
    yield* queue;
  } finally {
    stop.abort();
  }
}
