import type { PreflightCheck } from "../../src/contract/training-event.ts";
import type { Datum } from "../backend/datum.ts";
import { failed, passed } from "./preflight-check.ts";
import type { RecordedSample } from "./recorded-sampler.ts";

/**
 * Compares training data with the samples of their episodes. Each sample must be in a datum, id by id after its prompt.
 * The loss mask must cover the ids of samples and no others.
 */
export function checkTokens(data: readonly Datum[], samples: readonly RecordedSample[]): PreflightCheck[] {
  const spans = samples.map((recorded) => data.flatMap((datum) => spanOf(datum, recorded)));
  const lost = spans.filter((found) => found.length === 0);
  const ids = samples.reduce((sum, { sample }) => sum + sample.ids.length, 0);
  return [
    lost.length === 0
      ? passed("sampled-ids", `${ids} sampled ids are the ids that are trained on`)
      : failed(
          "sampled-ids",
          `${lost.length} of ${samples.length} completions are trained on with other ids than were sampled`,
          "The text is tokenized again, or a template changes earlier turns. Train on the ids of the sampler.",
        ),
    checkMask(data, spans),
  ];
}

/** The targets of a datum from `start` to before `end`. */
interface Span {
  readonly datum: Datum;
  readonly start: number;
  readonly end: number;
}

/** Finds a sample in a datum. It comes after its prompt, which is the datum's beginning. */
function spanOf(datum: Datum, { request, sample }: RecordedSample): Span[] {
  const { promptIds } = request;
  const idAt = (index: number): number | undefined => (index === 0 ? datum.tokens[0] : datum.targets[index - 1]);
  const matches = [...promptIds, ...sample.ids].every((id, index) => id === idAt(index));
  const start = promptIds.length - 1;
  return matches ? [{ datum, start, end: start + sample.ids.length }] : [];
}

function checkMask(data: readonly Datum[], spans: readonly (readonly Span[])[]): PreflightCheck {
  // A sample of one episode can be equal to a part of another episode's prompt. It must be trained on in one of them.
  const missed = spans
    .map((found) => Math.min(...found.map(unmasked)))
    .reduce((sum, count) => sum + (Number.isFinite(count) ? count : 0), 0);
  const sampled = new Map<Datum, Set<number>>(data.map((datum) => [datum, new Set()]));
  for (const { datum, start, end } of spans.flat()) {
    for (let position = start; position < end; position++) sampled.get(datum)!.add(position);
  }
  const trained = data.flatMap((datum) => maskedPositions(datum).map((position) => sampled.get(datum)!.has(position)));
  const foreign = trained.filter((isSampled) => !isSampled).length;
  if (missed === 0 && foreign === 0) {
    return passed("mask", `the loss mask covers ${trained.length} sampled ids and no others`);
  }
  return failed(
    "mask",
    `the loss mask misses ${missed} sampled ids and covers ${foreign} ids that were not sampled`,
    "The mask is shifted, or prompts and tool results are trained on.",
  );
}

function unmasked({ datum, start, end }: Span): number {
  return datum.lossMask.subarray(start, end).filter((weight) => weight === 0).length;
}

function maskedPositions({ lossMask }: Datum): number[] {
  return [...lossMask.keys()].filter((position) => lossMask[position] !== 0);
}
