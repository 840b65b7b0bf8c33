import { stat } from "node:fs/promises";
import { join } from "node:path";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { TrainingEvent } from "../src/contract/training-event.ts";
import { listCheckpoints, newestCheckpoint } from "./checkpoint/find-checkpoints.ts";
import { earlierRun } from "./checkpoint/resumed-checkpoint.ts";
import type { ModelConfigInput } from "./config/model-config.ts";
import type { TrainingConfigInput } from "./config/training-config.ts";
import { learnerFolder } from "./learners.ts";
import { train } from "./train.ts";
import type { TrainOptions } from "./training-run.ts";

/** One part of a run of several, such as SFT before PPO: what {@link train} is given, but for what all parts share. */
export interface Stage
  extends Pick<TrainOptions, "config" | "environment" | "environmentOptions" | "policies" | "opponent"> {
  /** The stage's folder within the run's. */
  readonly name: string;
}

/** What a run of several stages is made of. */
export interface StagesOptions extends Pick<TrainOptions, "output" | "resume"> {
  /** In order. All but the first begin with the weights of the one before. */
  readonly stages: readonly Stage[];
}

/** An event of a stage. */
export interface StageEvent {
  readonly stage: string;
  readonly event: TrainingEvent;
}

/** A stage that is to be run, as {@link train} takes it. */
export interface PlannedStage extends Stage {
  readonly output: string;
  readonly resume: boolean;
}

/**
 * Trains in stages, each a run of its own in `output/<name>` that ends as {@link train} says. Every stage begins with
 * the weights that the one before left in `model/` (its last, or by its `export.from` its best), merged where they
 * were an adapter (an agent that a stage freezes keeps those of the last that trained it): the optimizer is new, and
 * the reference of a KL term is the model as it was then. An abort ends the stage that runs; resumed, the run goes on
 * in the middle of it, and ends with the same weights as one that was never stopped.
 */
export async function* trainStages(
  options: StagesOptions & Pick<TrainOptions, "backend" | "algorithms" | "signal">,
): AsyncGenerator<StageEvent, void, undefined> {
  const { stages, output, resume, ...shared } = options;
  for (const { name, ...stage } of await planStages({ stages, output, ...(resume === undefined ? {} : { resume }) })) {
    for await (const event of train({ ...shared, ...stage })) {
      yield { stage: name, event };
      if (event.type === "run-end" && event.reason !== "completed") return;
    }
  }
}

/**
 * The stages that are left to run: all, or of a resumed run those from the first that is not complete. Throws
 * `config.invalid` for stages that do not follow from one another and `checkpoint.unusable` for a new run in a folder
 * that holds another's checkpoints.
 */
export async function planStages({ stages, output, resume = false }: StagesOptions): Promise<PlannedStage[]> {
  checkNames(stages);
  const planned: PlannedStage[] = [];
  for (const [place, { name, config, ...stage }] of stages.entries()) {
    const folder = join(output, name);
    const checkpoints = join(folder, "checkpoints");
    const begun = (await listCheckpoints(checkpoints)).length > 0;
    const checkpoint = await newestCheckpoint(checkpoints);
    if (begun && !resume) throw earlierRun(folder, checkpoint);
    const last = place === stages.length - 1;
    const steps = config.training?.steps ?? Number.POSITIVE_INFINITY;
    const exported = (await stat(join(folder, "model")).catch(() => undefined)) !== undefined;
    if (!last && exported && checkpoint !== undefined && checkpoint.manifest.step >= steps) continue;
    planned.push({
      ...stage,
      name,
      output: folder,
      // The first has no stage before it to tell that the folder is the right one.
      resume: resume && (begun || place === 0),
      config: {
        ...(place === 0 ? config : continued(stages[place]!, { earlier: stages.slice(0, place), output })),
        // The next stage begins with these weights as they are, in float32.
        ...(last ? {} : { export: { ...config.export, format: "huggingface", dtype: "float32" } }),
      },
    });
  }
  return planned;
}

/**
 * A stage's config with the models that stages before it exported: of each agent that it trains, those of the last stage
 * that trained it. An agent that was frozen until now begins with its own model.
 */
function continued(
  stage: Stage,
  { earlier, output }: { readonly earlier: readonly Stage[]; readonly output: string },
): TrainingConfigInput {
  const { config, name } = stage;
  const [first, before] = [earlier[0]!, earlier.at(-1)!];
  const source = ({ path, scratch, revision }: ModelConfigInput): string => JSON.stringify([path, scratch, revision]);
  if (source(config.model) !== source(first.config.model)) {
    throw invalid(
      `The stage "${name}" names a model of its own, and it begins with the weights of "${before.name}".`,
      "Leave model.path, model.revision and model.scratch out of all stages but the first.",
    );
  }
  const from = (trained: Stage, agent: string, model: ModelConfigInput): ModelConfigInput => {
    // What an earlier stage exported is a whole model, which has no base.
    const { scratch: _, revision: __, path: ___, base: ____, ...rest } = model;
    return { ...rest, path: join(output, trained.name, learnerFolder("model", agent, hasOneLearner(trained))) };
  };
  if (hasOneLearner(before) && (hasOneLearner(stage) || frozenIn(before).length === 0)) {
    return { ...config, model: from(before, "", config.model) };
  }
  const { agents } = before.environment.spec;
  if (hasOneLearner(stage) || stage.environment.spec.agents.join("\n") !== agents.join("\n")) {
    throw invalid(
      `The stage "${before.name}" trains a model for each of ${agents.join(", ")}, and "${name}" has other agents.`,
      "Give both stages the same agents, or let the agents of the first share their weights: agents.weights: shared.",
    );
  }
  const models = agents
    .filter((agent) => !frozenIn(stage).includes(agent))
    .map((agent) => {
      const own = config.agents?.models?.[agent] ?? config.model;
      const trained = earlier.findLast((one) => !frozenIn(one).includes(agent));
      return [agent, trained === undefined ? own : from(trained, agent, own)] as const;
    });
  return {
    ...config,
    model: models[0]?.[1] ?? config.model,
    agents: { ...config.agents, models: Object.fromEntries(models) },
  };
}

/** The agents that a stage does not train. */
function frozenIn({ config, policies = {} }: Stage): readonly string[] {
  return [...Object.keys(policies), ...Object.keys(config.agents?.policies ?? {})];
}

function hasOneLearner({ environment, config }: Stage): boolean {
  return environment.spec.agents.length === 1 || config.agents?.weights === "shared";
}

function checkNames(stages: readonly Stage[]): void {
  if (stages.length === 0) throw invalid("There are no stages.", "List at least one.");
  for (const [place, { name }] of stages.entries()) {
    if (!/^\w[\w.-]*$/.test(name)) {
      throw invalid(`A stage cannot be called "${name}".`, "It names a folder: use letters, digits, -, _ and dots.");
    }
    if (stages.findIndex((other) => other.name === name) < place) {
      throw invalid(`Two stages are called "${name}".`, "Give each a name of its own.");
    }
  }
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
