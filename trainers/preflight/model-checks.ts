import { rm } from "node:fs/promises";
import { toErrorData } from "../../src/contract/errors/index.ts";
import type { PreflightCheck } from "../../src/contract/training-event.ts";
import { formatNumber } from "../../src/core/text/format-numbers.ts";
import { type Datum, datumFromIds } from "../backend/datum.ts";
import type { Capabilities, Model } from "../backend/training-backend.ts";
import { exceeds, noiseAfterUpdate, precisionNoise } from "./precision-noise.ts";
import { type Difference, differenceOf, differenceText, failed, passed, skipped } from "./preflight-check.ts";
import type { RecordedSample } from "./recorded-sampler.ts";

/** The trial update must change log-probabilities by this much on average, and by this many times the noise. */
const wantedEffect = { nats: 0.1, noises: 10 };
/** The first learning rate of the trial update, and its growth while the effect is too small. */
const firstRate = { adapter: 1e-3, full: 1e-5 };
const rateGrowth = 4;
const maxUpdates = 12;
/** The number of samples that pass through the trainer. As many are sampled again as were given, by the same graph. */
const compared = 4;

/**
 * Checks that a model's sampler and trainer are one policy: their log-probabilities agree, an update changes both in
 * the same way, and loading a checkpoint undoes it. The model has its weights and its optimizer state of before when
 * the function returns, also if it throws.
 */
export async function checkModel(options: {
  readonly model: Model;
  readonly samples: readonly RecordedSample[];
  readonly capabilities: Capabilities;
  /** A folder that does not exist. It gets a checkpoint of the model and is deleted. */
  readonly folder: string;
  readonly signal?: AbortSignal | undefined;
}): Promise<PreflightCheck[]> {
  const { model, capabilities, folder, signal } = options;
  const noise = precisionNoise(capabilities);
  const samples = options.samples.slice(0, compared);
  const data = samples.map(datumOf);
  const before = await logprobsOf(model, data, signal);
  const gap = differenceOf(sampledLogprobs(samples), before);
  if (exceeds(gap, noise)) return [disagreement(gap, noise)];
  const agreement = passed("logprobs", `sampler and trainer differ by ${differenceText(gap)}`);
  const isServer = capabilities.device === "server";
  const isSure = before.every((logprob) => logprob > -1e-9);
  const sure = skipped("sync", "the model is sure of each token, so that an update would not show");
  if (isSure && !isServer) return [agreement, sure];
  const unsaved = await saveProblem(model, folder);
  if (unsaved !== undefined) {
    return [agreement, isServer ? noSave(unsaved) : skipped("sync", `the weights could not be saved: ${unsaved}`)];
  }
  let left: readonly string[] = [];
  let checks: readonly PreflightCheck[];
  try {
    checks = isSure ? [sure] : await checkUpdate({ ...options, data, before, gap, noise });
  } catch (error) {
    await model.load(folder).catch(() => {});
    throw error;
  } finally {
    left = await discard(model, [folder, `${folder}-updated`]);
  }
  return [agreement, ...checks, ...(left.length === 0 ? [] : [keptOnServer(left)])];
}

/** Makes a trial update after the model was saved in `folder`, checks that the sampler has it, and undoes it. */
async function checkUpdate(options: {
  readonly model: Model;
  readonly samples: readonly RecordedSample[];
  readonly data: readonly Datum[];
  readonly before: readonly number[];
  readonly gap: Difference;
  readonly noise: Difference;
  readonly capabilities: Capabilities;
  readonly folder: string;
  readonly signal?: AbortSignal | undefined;
}): Promise<PreflightCheck[]> {
  const { model, samples, data, before, gap, noise, capabilities, folder, signal } = options;
  const target = Math.max(wantedEffect.nats, wantedEffect.noises * noise.mean);
  const after = await update({ model, data, before, target, signal });
  const effect = differenceOf(before, after).mean;
  if (effect <= noise.mean) {
    await model.load(folder);
    return [noEffect(effect), restored(differenceOf(before, await logprobsOf(model, data, signal)), noise)];
  }
  // A server loads a state into a new model, which has the weights before the first step even if loading does nothing.
  // Only the updated state shows that the server loads.
  const loadsUpdated = model.isAdapter || capabilities.device === "server";
  if (loadsUpdated) await model.save(`${folder}-updated`);
  const again = (await sampleAgain(model, samples, signal)).slice(0, compared);
  if (loadsUpdated) {
    await model.load(folder);
    await model.load(`${folder}-updated`);
  }
  // One pass compares both: whether a state is restored, and whether the sampler has it.
  const all = [...data, ...again.map(datumOf)];
  const pass = async (): Promise<[number[], number[]]> => {
    const logprobs = await logprobsOf(model, all, signal);
    return [logprobs.slice(0, before.length), logprobs.slice(before.length)];
  };
  const [updated, updatedAgain] = await pass();
  await model.load(folder);
  const [old, oldAgain] = await pass();
  const reloaded = restored(differenceOf(after, updated), noise);
  // Without the updated state, the sampler cannot be compared with it.
  if (loadsUpdated && reloaded.status === "failed") return [reloaded];
  const sampled = sampledLogprobs(again);
  const sync = checkSync({ sampled, updated: updatedAgain, old: oldAgain, noise: noiseAfterUpdate(gap, noise) });
  return [sync, restored(differenceOf(before, old), noise)];
}

/** Deletes saved states. Returns the names of those that the server keeps. */
async function discard(model: Model, folders: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  for (const folder of folders) {
    // The second state is saved only on some backends.
    const kept = await model.discard?.(folder).catch(() => undefined);
    if (kept !== undefined) left.push(kept);
    await rm(folder, { recursive: true, force: true });
  }
  return left;
}

/** Saves the model. Returns why it cannot be saved, such as a full disk. Deletes an incomplete folder. */
async function saveProblem(model: Model, folder: string): Promise<string | undefined> {
  try {
    await model.save(folder);
    return undefined;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return toErrorData(error).message;
  }
}

/**
 * Lowers the probability of the samples, in a step or more, until log-probabilities have changed by `target` on
 * average. Returns the log-probabilities after it. A higher probability would change little if the model is sure of its completions.
 */
async function update(options: {
  readonly model: Model;
  readonly data: readonly Datum[];
  readonly before: readonly number[];
  readonly target: number;
  readonly signal: AbortSignal | undefined;
}): Promise<readonly number[]> {
  const { model, data, before, target, signal } = options;
  const tokens = before.length;
  let learningRate = model.isAdapter ? firstRate.adapter : firstRate.full;
  let after = before;
  for (
    let step = 0;
    step < maxUpdates && differenceOf(before, after).mean < target;
    step++, learningRate *= rateGrowth
  ) {
    await model.forwardBackward(data, [{ type: "crossEntropy", weight: -1 / tokens }], { signal });
    const adam = { learningRate, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };
    await model.optimStep(adam, { stepId: model.version + 1 });
    after = await logprobsOf(model, data, signal);
  }
  return after;
}

/** Compares the samples of a new sampler with the trainer after the update and with the trainer before it. */
function checkSync(options: {
  readonly sampled: readonly number[];
  readonly updated: readonly number[];
  readonly old: readonly number[];
  readonly noise: Difference;
}): PreflightCheck {
  const { sampled, updated, old, noise } = options;
  const gap = differenceOf(sampled, updated);
  const moved = differenceOf(old, updated);
  if (!exceeds(gap, noise)) {
    if (!exceeds(moved, noise)) return skipped("sync", "the new completions have the same log-probabilities as before");
    return passed(
      "sync",
      `after an update, sampler and trainer moved by ${formatNumber(moved.mean)} and differ by ${differenceText(gap)}`,
    );
  }
  if (!exceeds(differenceOf(sampled, old), noise)) {
    return failed(
      "sync",
      `after an update, the sampler still answers with the weights before it (they differ by ${differenceText(gap)})`,
      "The new weights or the adapter do not reach the sampler.",
    );
  }
  return failed(
    "sync",
    `after an update, sampler and trainer differ by ${differenceText(gap)}`,
    "The sampler has other weights than the trainer: layers of the adapter may be missing, or its scale is another.",
  );
}

/** Samples the completions of the same requests with the model's weights of now. */
async function sampleAgain(
  model: Model,
  samples: readonly RecordedSample[],
  signal: AbortSignal | undefined,
): Promise<RecordedSample[]> {
  const requests = samples.map(({ request }) => request);
  const sampler = await model.snapshot();
  try {
    const again = await Array.fromAsync(sampler.sample(requests, { signal }));
    return again.map((sample) => ({ request: requests[sample.request]!, sample }));
  } finally {
    await sampler.close();
  }
}

function datumOf({ request, sample }: RecordedSample): Datum {
  const { promptIds, settings } = request;
  return datumFromIds({
    ids: [...promptIds, ...sample.ids],
    mask: [...promptIds.map(() => 0), ...sample.ids.map(() => 1)],
    ...(sample.supports === undefined ? {} : { supports: [...promptIds.map(() => null), ...sample.supports] }),
    temperature: settings.temperature,
  });
}

function sampledLogprobs(samples: readonly RecordedSample[]): number[] {
  return samples.flatMap(({ sample }) => sample.logprobs);
}

/** Returns the trainer's log-probabilities of all trained targets, in order. */
async function logprobsOf(model: Model, data: readonly Datum[], signal: AbortSignal | undefined): Promise<number[]> {
  const results = await model.forward(data, { outputs: ["logprobs"], signal });
  return results.flatMap(({ logprobs }, index) =>
    Array.from(logprobs!).filter((_, position) => data[index]!.lossMask[position] !== 0),
  );
}

function disagreement(gap: Difference, noise: Difference): PreflightCheck {
  return failed(
    "logprobs",
    `sampler and trainer differ by ${differenceText(gap)}, more than the noise of their precision (${differenceText(noise)})`,
    "They have different weights, positions, temperatures or precisions. Check the model, its adapter and the dtype of both.",
  );
}

function noSave(problem: string): PreflightCheck {
  return failed(
    "save",
    `the server cannot save the weights, and nothing was saved: ${problem}`,
    "Each checkpoint of the run would fail. Check the server's log and its folder of checkpoints, and start the run again: SkyRL's JAX backend needs an absolute --checkpoints-base.",
  );
}

function keptOnServer(names: readonly string[]): PreflightCheck {
  return passed("save", `the server cannot delete what was saved for these checks: ${names.join(", ")}`);
}

function noEffect(effect: number): PreflightCheck {
  return failed(
    "update",
    `${maxUpdates} updates changed the log-probabilities of the trainer by ${formatNumber(effect)}`,
    "The optimizer step does not reach the weights that compute log-probabilities, or nothing is trainable.",
  );
}

function restored(gap: Difference, noise: Difference): PreflightCheck {
  if (!exceeds(gap, noise)) return passed("restore", "loading a checkpoint restores the weights before the update");
  return failed(
    "restore",
    `after loading a checkpoint, log-probabilities differ by ${differenceText(gap)} from those that were saved`,
    "A resumed run would not continue from the saved weights.",
  );
}
