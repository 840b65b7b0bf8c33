import { stat } from "node:fs/promises";
import { join } from "node:path";
import { invalidConfig } from "../../src/contract/errors/index.ts";
import type { TrainingEvent } from "../../src/contract/training-event.ts";
import { listCheckpoints, newestCheckpoint } from "../checkpoint/find-checkpoints.ts";
import { earlierRun } from "../checkpoint/resumed-checkpoint.ts";
import { completeConfig } from "../config/complete-config.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { checkConfig, type TrainingConfig } from "../config/training-config.ts";
import { learnerFolder } from "../run/learners.ts";
import type { TrainOptions } from "../run/training-run.ts";
import { checkStages } from "./check-stages.ts";
import { train } from "./train.ts";

/**
 * One stage of a training with several, such as SFT before PPO: the options of {@link train} that differ between
 * stages.
 */
export interface Stage
  extends Pick<
    TrainOptions,
    "config" | "environment" | "environmentOptions" | "policies" | "programs" | "opponent" | "recorded"
  > {
  /** The stage's folder within the run's. */
  readonly name: string;
}

/** The options of a training with several stages. */
export interface StagesOptions extends Pick<TrainOptions, "output" | "resume" | "algorithms"> {
  /** The stages in order. Each stage after the first starts from the weights of the previous one. */
  readonly stages: readonly Stage[];
}

/** An event of a stage. */
export interface StageEvent {
  readonly stage: string;
  readonly event: TrainingEvent;
}

/** A stage whose config is checked. */
interface CheckedStage extends Stage {
  readonly config: TrainingConfig;
}

/** A stage that is left to run, as {@link train} takes it. */
export interface PlannedStage extends CheckedStage {
  readonly output: string;
  readonly resume: boolean;
}

/**
 * Trains in stages. Each stage is a run of its own in `output/<name>` and ends as {@link train} does. It starts from
 * the weights that the previous stage exported to `model/` (the last or the best, by its `export.from`). An adapter is
 * merged into its base first. An agent that a stage freezes keeps the weights of the last stage that trained it. The
 * optimizer is new, and the reference of a KL term is the model at the start of the stage. An abort ends the current
 * stage. A resumed training continues in the middle of that stage and ends with the same weights as one without an
 * interruption.
 */
export async function* trainStages(
  options: StagesOptions & Pick<TrainOptions, "backend" | "signal">,
): AsyncGenerator<StageEvent, void, undefined> {
  const { stages: _, ...shared } = options;
  for (const { name, ...stage } of await planStages(options)) {
    for await (const event of train({ ...shared, ...stage })) {
      yield { stage: name, event };
      if (event.type === "run-end" && event.reason !== "completed") return;
    }
  }
}

/**
 * Returns the stages that are left to run. For a resumed training, these begin with the first incomplete stage. Throws
 * `config.invalid` if a stage cannot follow the previous one, and `checkpoint.unusable` for a new training in a folder
 * with the checkpoints of another.
 */
export async function planStages(options: StagesOptions): Promise<PlannedStage[]> {
  const { output, resume = false, algorithms } = options;
  const stages = options.stages.map((stage) => ({ ...stage, config: checkConfig(stage.config, algorithms) }));
  checkStages(stages);
  const planned: PlannedStage[] = [];
  for (const [place, { name, config, ...stage }] of stages.entries()) {
    const folder = join(output, name);
    const checkpoints = join(folder, "checkpoints");
    const begun = (await listCheckpoints(checkpoints)).length > 0;
    if (begun && !resume) throw earlierRun(folder, await newestCheckpoint(checkpoints));
    const last = place === stages.length - 1;
    if (!last && (await isCompleteStage(folder, config))) continue;
    planned.push({
      ...stage,
      name,
      output: folder,
      // The first stage always resumes, so that it fails if the folder is the wrong one.
      resume: resume && (begun || place === 0),
      config: completeConfig({
        ...(place === 0 ? config : continued(stages[place]!, { earlier: stages.slice(0, place), output })),
        // The next stage starts from exactly these weights, in float32.
        ...(last ? {} : { export: { ...config.export, format: "huggingface", dtype: "float32" } }),
      }),
    });
  }
  return planned;
}

/** True if the stage in a folder made all of its steps and exported its model. */
export async function isCompleteStage(
  folder: string,
  { training }: Pick<TrainingConfig, "training">,
): Promise<boolean> {
  const { steps = Number.POSITIVE_INFINITY } = training;
  const exported = (await stat(join(folder, "model")).catch(() => undefined)) !== undefined;
  return exported && ((await newestCheckpoint(join(folder, "checkpoints")))?.manifest.step ?? -1) >= steps;
}

/**
 * Returns a stage's config with the models that earlier stages exported. Each trained agent gets the model of the last
 * stage that trained it. An agent that was frozen in all earlier stages starts from its own model.
 */
function continued(
  stage: CheckedStage,
  { earlier, output }: { readonly earlier: readonly CheckedStage[]; readonly output: string },
): TrainingConfig {
  const { config, name } = stage;
  const before = earlier.at(-1)!;
  const from = (trained: CheckedStage, agent: string, model: ModelConfig): ModelConfig => {
    // An earlier stage exports a whole model, which has no base.
    const { scratch: _, revision: __, path: ___, base: ____, ...rest } = model;
    return { ...rest, path: join(output, trained.name, learnerFolder("model", agent, hasOneLearner(trained))) };
  };
  if (hasOneLearner(before) && (hasOneLearner(stage) || frozenIn(before).length === 0)) {
    return { ...config, model: from(before, "", config.model) };
  }
  const { agents } = before.environment.spec;
  if (hasOneLearner(stage) || stage.environment.spec.agents.join("\n") !== agents.join("\n")) {
    throw invalidConfig(
      `The stage "${before.name}" trains a model for each of ${agents.join(", ")}, but "${name}" has other agents.`,
      "Use the same agents in both stages, or set agents.weights: shared in the first.",
    );
  }
  const models = agents
    .filter((agent) => !frozenIn(stage).includes(agent))
    .map((agent) => {
      const own = config.agents.models[agent] ?? config.model;
      const trained = earlier.findLast((one) => !frozenIn(one).includes(agent));
      return [agent, trained === undefined ? own : from(trained, agent, own)] as const;
    });
  return {
    ...config,
    model: models[0]?.[1] ?? config.model,
    agents: { ...config.agents, models: Object.fromEntries(models) },
  };
}

/** Returns the agents that a stage does not train. */
function frozenIn({ config, policies = {} }: CheckedStage): readonly string[] {
  return [...Object.keys(policies), ...Object.keys(config.agents.policies)];
}

function hasOneLearner({ environment, config }: CheckedStage): boolean {
  return environment.spec.agents.length === 1 || config.agents.weights === "shared";
}
