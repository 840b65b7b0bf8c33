import type { PreflightCheck } from "../../src/contract/training-event.ts";
import type { Datum } from "../backend/datum.ts";
import { failed, passed } from "./preflight-check.ts";
import type { RecordedSample } from "./recorded-sampler.ts";

/**
 * Compares training data with the samples of their episodes. Each sample must be in one datum, id by id after its
 * prompt. The loss mask must cover the ids of samples and no others.
 */
export function checkTokens(data: readonly Datum[], samples: readonly RecordedSample[]): PreflightCheck[] {
  const masks = data.map((datum) => sampledPositions(datum, samples));
  const found = new Set(masks.flatMap(({ samples: inDatum }) => [...inDatum]));
  const lost = samples.filter((sample) => !found.has(sample));
  const ids = samples.reduce((sum, { sample }) => sum + sample.ids.length, 0);
  return [
    lost.length === 0
      ? passed("sampled-ids", `${ids} sampled ids are the ids that are trained on`)
      : failed(
          "sampled-ids",
          `${lost.length} of ${samples.length} completions are trained on with other ids than were sampled`,
          "The text is tokenized again, or a template changes earlier turns. Train on the ids of the sampler.",
        ),
    maskCheck(data, masks),
  ];
}

interface SampledPositions {
  /** True for each target of the datum that was sampled. */
  readonly sampled: readonly boolean[];
  readonly samples: ReadonlySet<RecordedSample>;
}

/** Finds the samples that the datum has. A sample is at the end of its prompt, which is the datum's beginning. */
function sampledPositions(datum: Datum, samples: readonly RecordedSample[]): SampledPositions {
  const ids = [datum.tokens[0] ?? datum.targets[0]!, ...datum.targets];
  const sampled = datum.targets.length === 0 ? [] : Array.from(datum.targets, () => false);
  const found = new Set<RecordedSample>();
  for (const recorded of samples) {
    const { promptIds } = recorded.request;
    const whole = [...promptIds, ...recorded.sample.ids];
    if (whole.length > ids.length || whole.some((id, index) => id !== ids[index])) continue;
    found.add(recorded);
    sampled.fill(true, promptIds.length - 1, whole.length - 1);
  }
  return { sampled, samples: found };
}

function maskCheck(data: readonly Datum[], masks: readonly SampledPositions[]): PreflightCheck {
  let covered = 0;
  let missed = 0;
  let foreign = 0;
  for (const [index, { lossMask }] of data.entries()) {
    for (const [position, isSampled] of masks[index]!.sampled.entries()) {
      const isTrained = lossMask[position] !== 0;
      if (isSampled && isTrained) covered += 1;
      else if (isSampled) missed += 1;
      else if (isTrained) foreign += 1;
    }
  }
  if (missed === 0 && foreign === 0) return passed("mask", `the loss mask covers ${covered} sampled ids and no others`);
  return failed(
    "mask",
    `the loss mask misses ${missed} sampled ids and covers ${foreign} ids that were not sampled`,
    "The mask is shifted, or prompts and tool results are trained on.",
  );
}
