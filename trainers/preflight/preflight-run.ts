import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { PreflightCheck, PreflightEvent } from "../../src/contract/training-event.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import { collectGroups } from "../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import type { Datum } from "../backend/datum.ts";
import type { Capabilities } from "../backend/training-backend.ts";
import { rolloutLimits } from "../config/training-config.ts";
import { sampleData } from "../data/sample-data.ts";
import { trainingGroup } from "../data/training-group.ts";
import { openPlayers } from "../models/open-policy.ts";
import type { Learner } from "../run/learners.ts";
import type { TrainingRun } from "../run/training-run.ts";
import { checkModel } from "./model-checks.ts";
import { skipped } from "./preflight-check.ts";
import { type RecordedSample, recordSamples } from "./recorded-sampler.ts";
import { checkTokens } from "./token-check.ts";

/**
 * The number of episodes that are played, and the largest number of tokens of a completion in them. Eight completions
 * are decoded in the time of two, by the graph that decodes in the first step.
 */
const episodes = 8;
const maxTokens = 8;
/** The number of completions that are sampled again, those of the shortest sequences. */
const maxSamples = 8;

/** The part of a run that is checked. */
type CheckedRun = Pick<
  TrainingRun,
  "activity" | "config" | "frozen" | "learners" | "output" | "pool" | "programs" | "progress" | "signal" | "tasks"
>;

/**
 * Checks that the parts of a run agree before its first step: what is sampled is what is trained on, and the sampler
 * follows the trainer. Plays eight short episodes of the first task, and makes and undoes a trial update of each trained
 * model. The run is not affected: no tasks or random numbers are consumed, and the models are restored from a
 * checkpoint. Checks are skipped if the episodes have no completions, for example because the environment fails.
 */
export async function preflightRun(run: CheckedRun, capabilities: Capabilities): Promise<PreflightEvent> {
  try {
    return await playAndCheck(run, capabilities);
  } finally {
    await rm(folderOf(run), { recursive: true, force: true });
  }
}

async function playAndCheck(run: CheckedRun, capabilities: Capabilities): Promise<PreflightEvent> {
  const started = performance.now();
  using _meter = run.activity.begin({ activity: "preflight", step: run.progress.step, unit: "episodes" });
  const recorded = new Map<Learner, RecordedSample[]>(run.learners.policies.map((learner) => [learner, []]));
  const data = await playedData(run, recorded);
  const checks: PreflightCheck[] = [];
  for (const [learner, samples] of recorded) {
    const found = await checkLearner(run, { learner, samples, data: data.get(learner)!, capabilities });
    checks.push(...found.map((check) => (recorded.size === 1 ? check : { ...check, learner: learner.name })));
  }
  return { type: "preflight", step: run.progress.step, checks, elapsedMs: performance.now() - started };
}

/** Plays the episodes. Returns the data that each learner would train on. */
async function playedData(
  run: CheckedRun,
  recorded: ReadonlyMap<Learner, RecordedSample[]>,
): Promise<Map<Learner, Datum[]>> {
  const { config, learners, frozen, programs, signal } = run;
  const policies = learners.policies.map((learner) => ({
    agents: learner.agents,
    model: recordSamples(learner.model, recorded.get(learner)!),
  }));
  await using players = await openPlayers({ learners: { policies }, frozen, programs });
  const { sampling } = config;
  const groups = await collectGroups(
    rollout({
      environment: run.pool,
      tasks: await run.tasks.peek(1, { signal }),
      policies: players.policies,
      groupSize: episodes,
      limits: rolloutLimits(config.rollout),
      sampling: { ...sampling, maxTokens: Math.min(sampling.maxTokens, maxTokens), supports: true },
      seed: deriveSeed(config.seed, "preflight"),
      signal,
    }),
  );
  const played = groups.map(trainingGroup).flatMap((group) => group.episodes);
  const dataOf = ({ agents }: Learner): Datum[] =>
    played.flatMap((episode) =>
      agents.flatMap((agent) => sampleData({ agent, sequences: episode.sequencesOf(agent) }).data),
    );
  return new Map(learners.policies.map((learner) => [learner, dataOf(learner)]));
}

async function checkLearner(
  run: CheckedRun,
  options: {
    readonly learner: Learner;
    readonly samples: readonly RecordedSample[];
    readonly data: readonly Datum[];
    readonly capabilities: Capabilities;
  },
): Promise<PreflightCheck[]> {
  const { learner, data, capabilities } = options;
  // A failed episode has no data to train on, so its completions are not compared.
  const samples = options.samples.filter(({ sample }) => sample.ids.length > 0);
  if (samples.length === 0) return [skipped("sampled-ids", "the episodes have no completion")];
  const tokens = checkTokens(data, samples);
  if (tokens.some(({ status }) => status === "failed")) return tokens;
  const model = await checkModel({
    model: learner.model,
    samples: samples.toSorted((one, other) => lengthOf(one) - lengthOf(other)).slice(0, maxSamples),
    capabilities,
    folder: join(folderOf(run), encodeURIComponent(learner.name)),
    signal: run.signal,
  });
  return [...tokens, ...model];
}

/** The folder of the checkpoints that undo the trial updates. */
function folderOf({ output }: Pick<TrainingRun, "output">): string {
  return join(output, "preflight");
}

function lengthOf({ request, sample }: RecordedSample): number {
  return request.promptIds.length + sample.ids.length;
}
