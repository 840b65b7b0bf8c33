import type { LineChart } from "./chart.ts";

/** A chart, or several if scales differ: its metrics, and how they are drawn. */
export interface ChartPlan extends Pick<LineChart, "note" | "share"> {
  /** The title. `{part}` is replaced by "agent" or "environment", whichever the run has several of. */
  readonly title: string;
  /** Patterns for complete metric names. The first capture group is the name of the line. */
  readonly metrics: readonly RegExp[];
  readonly names?: readonly string[];
  /** Is put in front of the names of the lines. */
  readonly prefix?: string;
  /** True if the metrics are rewards: the axis stays within the environment's range. */
  readonly isReward?: true;
  /** True if the metrics share a chart even if their scales differ. */
  readonly together?: true;
  /** The divisor of all values. */
  readonly divisor?: number;
  /** The chart is left out if every value equals this one. */
  readonly unlessAll?: number;
  /** The chart is left out if it has one line that equals this metric, such as a reward with one component. */
  readonly unlessSameAs?: string;
}

/** The charts under one heading. */
export interface SectionPlan {
  readonly title: string;
  readonly collapsed?: true;
  readonly ofEvaluations?: true;
  readonly charts: readonly ChartPlan[];
}

/** Matches a metric of the whole run, and of each agent with its own model. */
function ofEach(name: string): RegExp {
  return new RegExp(`^(?:agents/([^/]+)/)?${name}$`);
}

const component = /^reward\/component\/(.+)$/;
const ofAgent = [/^agents\/([^/]+)\/reward$/, /^reward\/((?!mean$|std$|component\/).+)$/];
const note = "of held-out tasks";

/** The sections of the report. The most important ones come first. */
export const sectionPlans: readonly SectionPlan[] = [
  {
    title: "Reward",
    charts: [
      { title: "Reward", note: "of training episodes", metrics: [/^reward\/mean$/], isReward: true },
      { title: "Spread of rewards", note: "standard deviation", metrics: [/^reward\/std$/] },
      { title: "Reward components", metrics: [component], unlessSameAs: "reward/mean" },
      {
        title: "Reward of each group of tasks",
        metrics: [/^reward\/group\/(.+)$/],
        prefix: "group ",
        isReward: true,
        together: true,
      },
      { title: "Reward of each {part}", metrics: ofAgent, isReward: true, together: true },
      {
        title: "Reward by turn",
        note: "over the episodes that played it",
        metrics: [/^rollout\/turn-([1-6])\/reward$/],
        prefix: "turn ",
        together: true,
      },
      {
        title: "Level reached by turn",
        note: "from 0 to 4",
        metrics: [/^rollout\/turn-([1-6])\/level$/],
        prefix: "turn ",
        together: true,
      },
    ],
  },
  {
    title: "Evaluation",
    ofEvaluations: true,
    charts: [
      { title: "Evaluation reward", note, metrics: [/^reward\/mean$/], isReward: true },
      { title: "Evaluation accuracy", note, metrics: [/^accuracy$/], share: true },
      { title: "Evaluation reward components", note, metrics: [component], unlessSameAs: "reward/mean" },
      {
        title: "Evaluation reward of each group of tasks",
        note,
        metrics: [/^reward\/group\/(.+)$/],
        prefix: "group ",
        isReward: true,
        together: true,
      },
      { title: "Evaluation reward of each {part}", note, metrics: ofAgent, isReward: true, together: true },
      {
        title: "Evaluation accuracy of each group of tasks",
        note,
        metrics: [/^accuracy\/group\/(.+)$/],
        prefix: "group ",
        share: true,
        together: true,
      },
      { title: "Evaluation accuracy of each {part}", note, metrics: [/^accuracy\/(?!over-all$)(.+)$/], share: true },
      { title: "Evaluation: truncated", note, metrics: [/^episodes\/(truncated)$/], share: true, unlessAll: 0 },
    ],
  },
  {
    title: "Completions",
    charts: [
      {
        title: "Completion length",
        note: "tokens",
        metrics: [/^length\/completion-(mean)$/, /^length\/completion-(max)$/],
      },
      {
        title: "Truncated",
        note: "share that a limit cut off",
        metrics: [/^length\/cut-off$/, /^episodes\/truncated$/],
        names: ["completions", "episodes"],
        share: true,
        together: true,
      },
      { title: "Turns", note: "of an episode", metrics: [/^turns\/mean$/], unlessAll: 1 },
    ],
  },
  {
    title: "Policy update",
    charts: [
      { title: "KL divergence", note: "from the reference", metrics: [ofEach("kl/reference")] },
      { title: "Entropy", note: "nats per token", metrics: [ofEach("entropy/sampled")] },
      { title: "Loss", metrics: [ofEach("loss/total")] },
      { title: "Gradient norm", metrics: [ofEach("optimizer/gradient-norm")] },
      { title: "Clipped ratios", note: "share of tokens", metrics: [ofEach("ratio/clip-fraction")], share: true },
      { title: "Learning rate", metrics: [/^optimizer\/learning-rate$/] },
    ],
  },
  {
    title: "Critic",
    charts: [
      { title: "Explained variance", note: "of returns; 1 is best", metrics: [ofEach("value/explained-variance")] },
      { title: "Critic loss", metrics: [ofEach("critic/loss")] },
    ],
  },
  {
    title: "Preferences",
    charts: [
      { title: "Preference accuracy", metrics: [ofEach("preference/accuracy")], share: true },
      { title: "Preference margin", metrics: [ofEach("preference/margin")] },
      { title: "Implicit reward", metrics: [/^preference\/(chosen)-reward$/, /^preference\/(rejected)-reward$/] },
    ],
  },
  {
    title: "Sampling",
    collapsed: true,
    charts: [
      { title: "Groups without signal", note: "all rewards equal", metrics: [/^groups\/without-signal$/], share: true },
      { title: "Groups solved", note: "all at the highest reward", metrics: [/^groups\/solved$/], share: true },
      { title: "Duplicates", note: "equal completions in a group", metrics: [/^groups\/duplicates$/], share: true },
      {
        title: "Episodes left out",
        metrics: [/^episodes\/(failed)$/, /^episodes\/(unscored)$/],
        share: true,
        together: true,
        unlessAll: 0,
      },
    ],
  },
  {
    title: "Speed",
    collapsed: true,
    charts: [
      {
        title: "Tokens per second",
        metrics: [/^tokens\/(sampled)-per-second$/, /^tokens\/(trained)-per-second$/],
      },
      { title: "Time of a step", note: "seconds", metrics: [/^time\/(.+)-ms$/], divisor: 1_000, together: true },
    ],
  },
];
