import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Algorithm } from "../../trainers/algorithms/index.ts";
import type { TrainingSample } from "../../trainers/data/training-sample.ts";
import { letterEnvironment } from "./letter-environment.ts";
import { teamEnvironment } from "./team-environment.ts";

/** One algorithm, the config with which it learns on the bigram table, and a control that must not learn. */
export interface CatalogueCase {
  readonly id: string;
  /** The name of this form of the algorithm. Its id if absent. */
  readonly form?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly environment: () => EnvironmentDefinition;
  readonly steps: number;
  readonly learningRate?: number;
  /** The lower bound of its gain in mean reward, and the upper bound of the control's gain. */
  readonly margin: number;
  /** The control: the algorithm with one part broken. */
  readonly control: (algorithm: Algorithm) => Algorithm;
}

/** Returns the same credit with all advantages negated. */
function flipped(algorithm: Algorithm): Algorithm {
  return withSamples(algorithm, (sample) => {
    const { advantage = 0 } = sample;
    return { ...sample, advantage: typeof advantage === "number" ? -advantage : advantage.map(negated) };
  });
}

/** Returns the same credit with all preferences reversed. */
function swapped(algorithm: Algorithm): Algorithm {
  return withSamples(algorithm, (sample) => ({
    ...sample,
    sequences: sample.rejected!,
    rejected: sample.sequences,
    ...(sample.marginOffset === undefined ? {} : { marginOffset: -sample.marginOffset }),
  }));
}

/** Returns the same loss with its sign reversed. */
function negatedLoss(algorithm: Algorithm): Algorithm {
  return { ...algorithm, loss: { ...algorithm.loss, terms: [{ type: "crossEntropy", weight: -1 }] } };
}

function withSamples(algorithm: Algorithm, change: (sample: TrainingSample) => TrainingSample): Algorithm {
  const { credit } = algorithm;
  return {
    ...algorithm,
    credit: {
      ...credit,
      assign: async (experience, context) => {
        const credited = await credit.assign(experience, context);
        return { ...credited, samples: credited.samples.map(change) };
      },
    },
  };
}

function negated(values: readonly number[]): number[] {
  return values.map((value) => -value);
}

const letters = (): EnvironmentDefinition => letterEnvironment() as EnvironmentDefinition;
const team = (): EnvironmentDefinition => teamEnvironment({ turns: 1 }) as EnvironmentDefinition;
/** One right answer has a reward too. */
const partly = (): EnvironmentDefinition => teamEnvironment({ turns: 1, partial: 0.3 }) as EnvironmentDefinition;
const turns = (): EnvironmentDefinition => teamEnvironment({ partial: 0.2 }) as EnvironmentDefinition;

/** All algorithms of the catalogue, with the main forms of those that have several. */
export const catalogue: readonly CatalogueCase[] = [
  { id: "sft", environment: letters, steps: 20, margin: 0.5, control: negatedLoss },
  { id: "reinforce", settings: { groupSize: 8 }, environment: letters, steps: 40, margin: 0.4, control: flipped },
  { id: "rloo", settings: { groupSize: 8 }, environment: letters, steps: 30, margin: 0.5, control: flipped },
  { id: "remax", settings: { groupSize: 8 }, environment: letters, steps: 30, margin: 0.4, control: flipped },
  { id: "grpo", environment: letters, steps: 30, margin: 0.5, control: flipped },
  {
    id: "dr-grpo",
    settings: { lossAggregation: { fixedLength: 1 } },
    environment: letters,
    steps: 30,
    margin: 0.5,
    control: flipped,
  },
  { id: "dapo", environment: letters, steps: 30, margin: 0.5, control: flipped },
  {
    id: "gspo",
    settings: { clipLow: 0.2, clipHigh: 0.2 },
    environment: letters,
    steps: 30,
    margin: 0.5,
    control: flipped,
  },
  { id: "cispo", environment: letters, steps: 30, margin: 0.5, control: flipped },
  {
    id: "ppo",
    settings: { groupSize: 8, entropyWeight: 0.02, valueWeight: 0.1 },
    environment: letters,
    steps: 30,
    margin: 0.4,
    control: flipped,
  },
  {
    id: "ppo",
    form: "ppo-separate-critic",
    settings: { groupSize: 8, critic: "separate" },
    environment: letters,
    steps: 30,
    margin: 0.4,
    control: flipped,
  },
  { id: "dpo", settings: { groupSize: 8, beta: 0.5 }, environment: letters, steps: 40, margin: 0.3, control: swapped },
  {
    id: "dpo",
    form: "dpo-hinge",
    settings: { groupSize: 8, form: "hinge", referenceFree: true },
    environment: letters,
    steps: 40,
    margin: 0.3,
    control: swapped,
  },
  {
    id: "dpo",
    form: "dpo-ipo",
    settings: { groupSize: 8, form: "ipo" },
    environment: letters,
    steps: 40,
    margin: 0.3,
    control: swapped,
  },
  {
    id: "mareinforce",
    settings: { groupSize: 8, entropyWeight: 0.02 },
    environment: team,
    steps: 40,
    margin: 0.3,
    control: flipped,
  },
  { id: "magrpo", settings: { groupSize: 8 }, environment: team, steps: 40, margin: 0.4, control: flipped },
  {
    id: "magrpo",
    form: "magrpo-cross",
    settings: { groupSize: 4, jointMode: "cross", entropyWeight: 0.02 },
    environment: team,
    steps: 40,
    margin: 0.4,
    control: flipped,
  },
  {
    id: "magrpo",
    form: "magrpo-tree",
    settings: { groupSize: 4 },
    environment: turns,
    steps: 30,
    margin: 0.6,
    control: flipped,
  },
  {
    id: "magrpo",
    form: "magrpo-handoff",
    settings: { groupSize: 4, turnStructure: "handoff" },
    environment: turns,
    steps: 40,
    margin: 0.6,
    control: flipped,
  },
  { id: "marloo", settings: { groupSize: 8 }, environment: team, steps: 40, margin: 0.4, control: flipped },
  { id: "maremax", settings: { groupSize: 8 }, environment: partly, steps: 60, margin: 0.1, control: flipped },
  { id: "ippo", settings: { groupSize: 8 }, environment: team, steps: 25, margin: 0.3, control: flipped },
  { id: "iac", settings: { groupSize: 8 }, environment: team, steps: 25, margin: 0.3, control: flipped },
  {
    id: "iac",
    form: "iac-shared-critic",
    settings: { groupSize: 8, critic: "shared" },
    environment: team,
    steps: 25,
    margin: 0.3,
    control: flipped,
  },
  {
    id: "maac",
    form: "maac-shared-critic",
    settings: { groupSize: 8, critic: "shared", entropyWeight: 0.02 },
    environment: team,
    steps: 25,
    margin: 0.3,
    control: flipped,
  },
  {
    id: "maac",
    settings: { groupSize: 8, entropyWeight: 0.02 },
    environment: team,
    steps: 25,
    margin: 0.3,
    control: flipped,
  },
  { id: "madpo", settings: { groupSize: 8, beta: 0.5 }, environment: team, steps: 40, margin: 0.3, control: swapped },
];
