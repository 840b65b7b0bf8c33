import { setImmediate } from "node:timers/promises";
import type { SampledModel } from "../../src/core/policy/sampled-model.ts";
import { type ChoicePart, ChoiceParts } from "./choice-part.ts";
import { type ChoiceRequest, sampleChoices } from "./sample-choices.ts";

/**
 * Samples the choices of a request and yields their pieces as soon as they are settled, those of several choices
 * together. What is settled while the consumer is busy becomes one piece of each choice, so that a slow consumer needs
 * little memory. Each choice ends with a piece that has it. If the sampler does not report tokens as asked, this is its
 * only piece. Throws as `sampleChoices` does.
 */
export async function* streamChoices(
  model: SampledModel,
  request: ChoiceRequest,
  signal: AbortSignal,
): AsyncGenerator<readonly ChoicePart[]> {
  const stop = new AbortController();
  const choices = new Map<number, ChoiceParts>();
  /** The choices with something new, by index. */
  let changed = new Map<number, ChoiceParts>();
  let news = Promise.withResolvers<void>();
  const change = (index: number): ChoiceParts => {
    const parts = choices.get(index) ?? new ChoiceParts({ index, model, request });
    choices.set(index, parts);
    changed.set(index, parts);
    news.resolve();
    return parts;
  };
  const sample = async (): Promise<void> => {
    const sampled = sampleChoices(model, request, {
      signal: AbortSignal.any([signal, stop.signal]),
      onSampled: (tokens) => {
        for (const token of tokens) change(token.request).add(token);
      },
    });
    for await (const choice of sampled) {
      change(choice.index).end(choice);
      choices.delete(choice.index);
    }
  };
  let ended: { readonly error?: unknown } | undefined;
  const end = (how: { readonly error?: unknown }): void => {
    ended = how;
    news.resolve();
  };
  void sample().then(
    () => end({}),
    (error) => end({ error }),
  );
  try {
    while (ended === undefined || changed.size > 0) {
      await news.promise;
      // Everything that has arrived by now is handled first, so that a busy server sends larger pieces.
      await setImmediate();
      news = Promise.withResolvers();
      const fresh = changed.values();
      changed = new Map();
      const parts = [...fresh].flatMap((choice) => choice.take() ?? []);
      if (parts.length > 0) yield parts;
    }
    if (ended.error !== undefined) throw ended.error;
  } finally {
    stop.abort();
  }
}
