import { dirname } from "node:path";
import { invalidConfig } from "../src/contract/errors/index.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { chooseDevice } from "../trainers/backends/onnx/device.ts";
import type { DecoderConfig } from "../trainers/model-folders/architecture/decoder-config.ts";
import { checkTargets } from "../trainers/model-folders/architecture/lora-layers.ts";
import { planCluster } from "../trainers/plan/cluster-plan.ts";
import { devices } from "../trainers/plan/devices.ts";
import { planEngine } from "../trainers/plan/engine-plan.ts";
import { exactly, type Interval, interval } from "../trainers/plan/interval.ts";
import { loadShape } from "../trainers/plan/load-shape.ts";
import { type MachineRates, measureMachine } from "../trainers/plan/measured-machine.ts";
import { modelSize } from "../trainers/plan/model-size.ts";
import type { Plan } from "../trainers/plan/plan.ts";
import { planTorch } from "../trainers/plan/torch-plan.ts";
import { completionUpTo, planWorkload, type Workload } from "../trainers/plan/workload.ts";
import { openTasks } from "../trainers/training/open-tasks.ts";
import { createAlgorithm } from "../trainers/training/resolve-config.ts";
import { evaluationCount, trainingSteps } from "../trainers/training/step-count.ts";
import { engineOptions } from "./catalog.ts";
import type { LoadedRun } from "./check-run-config.ts";
import { checkStage } from "./check-stage.ts";
import type { CommandContext } from "./command-context.ts";
import { loadStages } from "./load-stages.ts";
import { measureLengths } from "./plan-lengths.ts";
import type { PlanArguments } from "./plan-program.ts";
import { type PlannedRun, planText } from "./plan-text.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import type { RunConfig } from "./run-config.ts";
import { runEnvironment } from "./run-environment.ts";
import { engineRun } from "./training-memory.ts";

/**
 * Runs `lyceum plan`: estimates a training, or each of its stages, and prints the plans. Opens the environment to
 * measure prompts, unless arguments and config have all lengths and the steps. If it opens the environment, it also refuses
 * a run that cannot work there: see {@link checkStage}. Throws `model.missing` or `model.unsupported` for a model whose shape
 * is not known, `config.invalid` if the hardware is not named, and `backend.unsupported` if it cannot train in the
 * precision of the config.
 */
export async function planCommand(args: PlanArguments, options: CommandContext): Promise<void> {
  const { catalog, output } = options;
  const runs = await loadStages({ path: args.config, overrides: args.set, catalog });
  const works: RunWork[] = [];
  for (const run of runs) works.push(await workOf(run, args, options));
  // The machine is measured once for a number of threads, and only if no stage is refused.
  const measured = new Map<number | undefined, Promise<MachineRates>>();
  const measure: Measure = (threads) => {
    const rates = measured.get(threads) ?? measureMachine(threads);
    measured.set(threads, rates);
    return rates;
  };
  const planned: PlannedRun[] = [];
  for (const work of works) planned.push(await planRun(work, args, measure));
  if (args.json) output.write(`${JSON.stringify(planned, undefined, 2)}\n`);
  else output.write(visibleText(planned.map(planText).join("\n")));
}

/** Measures this machine with a number of threads. */
type Measure = (threads: number | undefined) => Promise<MachineRates>;

/** What a run, or a stage, has to do. */
interface RunWork extends Pick<LoadedRun, "name" | "config"> {
  readonly device: string;
  readonly shape: DecoderConfig;
  readonly workload: Workload;
  readonly steps: number;
  readonly unknownTurns: number | undefined;
}

async function workOf(run: LoadedRun, args: PlanArguments, options: CommandContext): Promise<RunWork> {
  const { config, algorithms, name } = run;
  const { backend, model } = config;
  const device = args.device ?? defaultDevice(config);
  const shape = await loadShape(model, { shape: args.shape, signal: options.signal });
  if (backend.type !== "torch" && model.adapter.type === "lora") checkTargets(shape, model.adapter.targets);
  const algorithm = createAlgorithm(config, algorithms);
  const { agents, lengths, unknownTurns, steps, evaluatedTasks } = await tasksOf(run, args, options);
  const workload = planWorkload({ config, algorithm, agents, lengths, evaluatedTasks });
  return { name, config, device, shape, workload, steps, unknownTurns };
}

async function planRun(work: RunWork, args: PlanArguments, measure: Measure): Promise<PlannedRun> {
  const { name, config, shape, workload, unknownTurns } = work;
  const plan = await planOn(work, args, measure);
  const model = config.model.path ?? `a new ${shape.family} model`;
  return {
    ...(name === undefined ? {} : { stage: name }),
    ...{ model, workload, plan },
    ...(unknownTurns === undefined ? {} : { unknownTurns }),
  };
}

/** Estimates a run on this machine or on GPUs. */
async function planOn(work: RunWork, args: PlanArguments, measure: Measure): Promise<Plan> {
  const { device, config, shape, workload, steps } = work;
  const { price, gpus, precision, microBatch, decodeBatch, keepActivations } = args;
  if (config.backend.type === "torch") return planOnTorch(work, { args, measure, backend: config.backend });
  if (device === "cpu") {
    if (gpus > 1) throw invalidConfig(`--gpus ${gpus} needs the name of a GPU.`, hardwareHint());
    await chooseDevice("cpu", { precision: config.model.precision });
    const rates = await measure(config.model.threads);
    const evaluations = evaluationCount(steps, config.evaluation.every);
    return planEngine({ ...engineRun(config, { shape, workload }), rates, steps, evaluations, price });
  }
  const spec = devices.get(device);
  if (precision === "bfloat16" && !spec.bfloat16) {
    throw invalidConfig(`${spec.name} has no bfloat16.`, "Use --precision float16 or float32.", { device });
  }
  const cluster = { device: spec, gpus, precision, recompute: !keepActivations, microBatch, decodeBatch };
  const { size, adapted } = engineRun(config, { shape, workload });
  return planCluster({ size, adapted, ...cluster, workload, steps, price });
}

/** Estimates a run with the PyTorch backend, whose processes and precision are those of the config. */
async function planOnTorch(
  { device, config, shape, workload, steps }: RunWork,
  options: {
    readonly args: PlanArguments;
    readonly measure: Measure;
    readonly backend: Extract<RunConfig["backend"], { type: "torch" }>;
  },
): Promise<Plan> {
  const { args, backend, measure } = options;
  const { processes = 1, nodes = 1, strategy = "ddp", recompute } = backend;
  refuseHardwareOptions(args);
  // Refuses keys that PyTorch does not have.
  engineOptions(config);
  const card = device === "cpu" ? undefined : devices.get(device);
  if (backend.precision === "bfloat16" && card?.bfloat16 === false) {
    throw invalidConfig(`${card.name} has no bfloat16.`, "Set backend.precision to float32.", { device });
  }
  return planTorch({
    size: modelSize(shape, config.model.adapter),
    adapted: modelSize(shape, { type: "lora" }),
    ...{ workload, steps, processes, nodes, strategy, recompute, price: args.price },
    precision: backend.precision ?? (card?.bfloat16 === true ? "bfloat16" : "float32"),
    maxTokensPerMicroBatch:
      config.training.maxTokensPerMicroBatch ?? processes * nodes * (card === undefined ? 2048 : 16_384),
    decodeBatchSize: backend.decodeBatchSize ?? (card === undefined ? 32 : 256),
    hardware: card === undefined ? { machine: await measure(config.model.threads) } : { card },
  });
}

/** Throws `config.invalid` for options of the plan that are keys of a config with the PyTorch backend. */
function refuseHardwareOptions({ gpus, precision, microBatch, decodeBatch, keepActivations }: PlanArguments): void {
  const given = [
    [gpus > 1, "--gpus", "backend.processes and backend.strategy"],
    [precision !== "bfloat16", "--precision", "backend.precision"],
    [microBatch !== 4, "--micro-batch", "training.maxTokensPerMicroBatch"],
    [decodeBatch !== 256, "--decode-batch", "backend.decodeBatchSize"],
    [keepActivations, "--keep-activations", "backend.recompute"],
  ] as const;
  const wrong = given.find(([isGiven]) => isGiven);
  if (wrong === undefined) return;
  throw invalidConfig(
    `${wrong[1]} is for configs of other engines: this one trains by PyTorch.`,
    `Change ${wrong[2]} with --set.`,
  );
}

/** Returns the default device: this machine, if the config trains on its processor. Throws `config.invalid` if not. */
function defaultDevice({ backend, model }: RunConfig): "cpu" {
  if (backend.type === "tinker") {
    throw invalidConfig("The config trains on a server, whose hardware is not known.", hardwareHint());
  }
  if (model.device === "cpu" || (backend.type === "onnx" && model.device === "auto")) return "cpu";
  if (model.device === "auto") {
    throw invalidConfig("The config trains by PyTorch on a card, if there is one.", hardwareHint());
  }
  throw invalidConfig(`The config trains on ${model.device}, whose rates cannot be measured.`, hardwareHint());
}

function hardwareHint(): string {
  const known = devices.list().map(({ id }) => id);
  return `Name a GPU, --device ${known.join(", ")}, or this machine's processor, --device cpu.`;
}

/**
 * Returns the number of agents, the lengths, the steps, and the tasks of an evaluation. Opens the environment only if
 * arguments and config lack one of them.
 */
async function tasksOf(run: LoadedRun, args: PlanArguments, { catalog, signal }: CommandContext) {
  const { config, environments, algorithms } = run;
  const { promptTokens, completionTokens, turns } = args;
  // Only plans of the embedded engine on this machine include evaluations.
  const evaluates = (args.device ?? "cpu") === "cpu" && config.backend.type !== "torch";
  const algorithm = createAlgorithm(config, algorithms);
  const samples = algorithm.rollout.actor === "policy";
  const { maxTokens } = config.sampling;
  const limit = completionUpTo(maxTokens);
  const given = completionTokens === undefined ? undefined : exactly(completionTokens);
  const known = promptTokens !== undefined && args.agents !== undefined && (samples || given !== undefined);
  if (known && turns !== undefined && config.training.steps !== undefined) {
    const lengths = { prompt: exactly(promptTokens), completion: given ?? limit, turns };
    const evaluatedTasks = !evaluates || config.evaluation.split === undefined ? 0 : config.evaluation.limit;
    return { agents: args.agents!, lengths, unknownTurns: undefined, steps: config.training.steps, evaluatedTasks };
  }
  await using opener = createPolicyOpener({ catalog, engine: engineOptions(config), signal });
  const { environment } = await runEnvironment(config, { registry: environments, open: opener.open });
  const checked = await checkStage(run, { environment, folder: dirname(args.config) });
  const { frozen } = checked;
  const { split } = config.tasks;
  // The memory of this machine limits runs on this machine only.
  const opened = evaluates ? await openTasks({ ...checked, signal }) : undefined;
  const tasks = opened?.tasks ?? (await environment.tasks(split, { signal }));
  const measured =
    promptTokens !== undefined && (samples || given !== undefined)
      ? undefined
      : await measureLengths({ environment, split, model: config.model, signal });
  const mostTurns = Math.min(environment.spec.maxTurns, config.rollout.limits.turns ?? Number.POSITIVE_INFINITY);
  // Other stages may have more turns.
  if (turns !== undefined && turns > mostTurns && run.name === undefined) {
    throw invalidConfig(`--turns is ${turns}, but an episode has at most ${mostTurns}.`, "Give fewer turns.");
  }
  const usualTurns = turns ?? measured?.turns;
  const completion = given ?? (samples ? limit : (measured?.demonstration ?? limit));
  return {
    agents: args.agents ?? environment.spec.agents.filter((agent) => !frozen.includes(agent)).length,
    lengths: {
      prompt: promptTokens === undefined ? measured!.prompt : exactly(promptTokens),
      completion,
      // A model that learns from demonstrations can give longer answers than they have.
      evaluated: given ?? upTo({ ...completion, high: maxTokens }, maxTokens),
      turns: Math.min(usualTurns ?? 1, mostTurns),
    },
    unknownTurns: usualTurns === undefined && mostTurns > 1 ? mostTurns : undefined,
    steps: opened?.steps ?? trainingSteps({ tasks, config, resampleRounds: algorithm.rollout.resampleRounds }),
    evaluatedTasks: opened?.heldOut.length ?? 0,
  };
}

function upTo({ low, middle, high }: Interval, most: number): Interval {
  return interval(Math.min(low, most), Math.min(middle, most), Math.min(high, most));
}
