import type { Score } from "./record.ts";

/** A row of docs/results.md. Its config is examples/results/ID.yaml, and its numbers come from records alone. */
export interface ResultRow {
  readonly id: string;
  readonly title: string;
  /** What the model must do, how it learns, and what the score is. */
  readonly about: string;
  readonly model: string;
  readonly score: Score;
  /** The lowest and the highest possible score. */
  readonly bounds: { readonly least: number; readonly most: number };
  /** A published result with another system, with its settings. */
  readonly published?: string;
  /** Why nobody has run it. */
  readonly notRun?: string;
  /** What a reader of the numbers must know. */
  readonly note?: string;
}

const share = { least: 0, most: 1 };
const smollm = "SmolLM2-135M-Instruct";
const noGpu = "it needs a GPU";

/** The rows, in the order of the page. */
export const resultRows: readonly ResultRow[] = [
  {
    id: "tic-tac-toe",
    title: "Tic-tac-toe in self-play, from scratch",
    about:
      "A model of bytes with random weights imitates perfect games for 100 steps (SFT). Then one model plays both sides and " +
      "learns from both by GRPO. A game begins after four random moves. The score is the reward against a perfect player, from " +
      "both sides of held-out openings: -1 for a lost game, 0 for a draw, 1 for a won one. A perfect player scores 0 there.",
    model: "from scratch",
    score: "reward",
    bounds: { least: -1, most: 1 },
    note:
      "The 60 steps of self-play are 3,840 games, which fit into twenty minutes on one busy core. O loses nearly all of these " +
      "openings to a perfect X, so that the score can rise for X only.",
  },
  {
    id: "addition",
    title: "Addition of two numbers of two digits",
    about:
      "GRPO with a LoRA adapter. The score is the share of held-out problems with the right answer, greedily decoded.",
    model: smollm,
    score: "accuracy",
    bounds: share,
  },
  {
    id: "calculator",
    title: "A calculator as a tool",
    about:
      "Products and sums of large numbers, which no small model computes without help. SFT teaches the format of calls, and " +
      "GRPO when to call. The score is the reward: 0.8 for the right answer, up to 0.2 for calls that helped.",
    model: smollm,
    score: "reward",
    bounds: share,
    note:
      "After ten steps of SFT the model solves 97 % of the held-out problems, and GRPO has nothing left to improve. So the config has " +
      "seven. Its config then had 20 steps of GRPO. The run was stopped after 10.",
  },
  {
    id: "countdown",
    title: "Countdown with three numbers",
    about:
      "An expression of three given numbers, of at most 10, must have a given value, of at most 25. SFT on the solver's answers, " +
      "then GRPO. The score is the share of held-out tasks that one sample at temperature 1 solves.",
    model: smollm,
    score: "accuracy",
    bounds: share,
    note:
      "GRPO makes samples as good as the greedy answer, which hardly improves: in another run with this seed it solved " +
      "14 % of the tasks before and 15 % after 10 steps. With values of at most 100 it solved 16 % of 100 tasks before and after 30 " +
      "steps. The published model is larger and reasons before it answers.",
    published: "Qwen2.5-0.5B, SFT then RLOO, 100 steps on one H100: 0.30 to 0.64",
  },
  {
    id: "number-guessing",
    title: "Number guessing over several turns",
    about:
      "The model finds a number between 1 and 30 by guesses that are answered by higher or lower. SFT on binary search, " +
      "then GRPO. The score is the reward of sampled games with each of the numbers: 1 for a number that is found as fast " +
      "as binary search finds it, less for each further guess.",
    model: smollm,
    score: "reward",
    bounds: share,
    note:
      "With numbers up to 100, eight steps of SFT, six groups of eight games and a learning rate of 2e-4, 18 steps of play did not " +
      "raise the reward (0.53 before, 0.48 after ten steps).",
  },
  {
    id: "addition-dpo",
    title: "DPO on preferences that an environment makes",
    about:
      "Addition of two numbers of two digits, with the answer alone. SFT on answers for 10 steps, then DPO: the best and the " +
      "worst of eight answers to a problem are a preference. The score is the share of held-out problems with the right " +
      "answer, greedily decoded.",
    model: smollm,
    score: "accuracy",
    bounds: share,
    note:
      "Without SFT first, and with reasoning before the answer, eight answers are nearly always all wrong: in 20 steps, nine of ten " +
      "groups had no preference, and the score went from 9.4 % to 12.5 % (64 problems). The probe had proposed SFT first. It said the " +
      "same in the run above, in which SFT had come first: the score rose although nothing was changed.",
  },
  {
    id: "reverse-text",
    title: "Reverse text",
    about:
      "Reverse a text letter by letter, with the steps of prime-rl: 100 steps of SFT, then 20 steps of GRPO with 128 samples " +
      "of 128 tokens, groups of 16, a learning rate of 3e-6, all weights. The score is the similarity with the reversed text.",
    model: smollm,
    score: "reward",
    bounds: share,
    published: "Qwen3-0.6B, prime-rl: 0.05 to about 0.8",
    note:
      "No improvement by GRPO is shown. The reward of the training samples stays between 0.45 and 0.50, although every group has " +
      "a signal: twenty steps at 3e-6 hardly change this model, which is a quarter of the published one's size. A higher " +
      "learning rate was not tried. The minutes include pauses of the run.",
  },
  {
    id: "two-coders",
    title: "Two agents write one program",
    about:
      "MAGRPO on CoopHumanEval with an adapter for each agent, in two turns with feedback. One writes a helper, the other the " +
      "function that may call it. The score is CoMLRL's reward, summed over the turns and averaged over the agents.",
    model: "Qwen2.5-Coder-0.5B-Instruct",
    score: "reward",
    bounds: { least: 0, most: 8 },
    note:
      "Of the gain, 0.38 is for helpers that are defined, 0.25 for tests, 0.21 for the function's definition and 0.13 for valid syntax. " +
      "Answers that the limit of tokens cuts off fell from 35 to 10 %. The share of right programs is the same, and on the held-out problems no function calls " +
      "its helper. An earlier run, after which the settings were changed, had batches of one problem instead of four, a learning rate of 2e-4 and 32 steps. Its reward went from 2.77 to 3.19 " +
      "after 16 steps and to 3.04 at the end, and the share of right programs from 40 to 20 %. The agent that writes the helper came to " +
      "write the whole program instead, and `component-fall` said so after 30 steps.",
  },
  {
    id: "one-coder",
    title: "One agent writes the program, with the same number of samples",
    about:
      "The same problems, turns and steps with one agent and groups of eight instead of four of each agent. One agent can earn " +
      "at most 4.2 over two turns, two agents 8. So compare the share of correct programs, not the rewards.",
    model: "Qwen2.5-Coder-0.5B-Instruct",
    score: "reward",
    bounds: { least: 0, most: 4.2 },
    notRun: "it takes an hour or more on two cores",
  },
  {
    id: "two-writers",
    title: "Two agents write two summaries",
    about:
      "MAGRPO with an adapter for each agent. One summarises a story in short, the other in detail, and neither sees the other's " +
      "text. The stories are the questions of GSM8K. The score is the reward: what the texts say of the story, and how " +
      "their lengths, words and transitions fit together.",
    model: smollm,
    score: "reward",
    bounds: share,
    note: "The run was stopped after 20 of its 30 steps. The control was not run.",
  },
  {
    id: "reverse-text-gpu",
    title: "Reverse text on one GPU",
    about:
      "The texts and the steps of the row on reverse text, with the model of the published result, which used other texts.",
    model: "Qwen3-0.6B",
    score: "reward",
    bounds: share,
    published: "Qwen3-0.6B, prime-rl: 0.05 to about 0.8",
    notRun: noGpu,
  },
  {
    id: "gsm8k-gpu",
    title: "GSM8K on one GPU",
    about:
      "PPO after the settings of verl's baseline. The score is the share of the test problems with the right answer.",
    model: "Qwen2.5-0.5B-Instruct",
    score: "accuracy",
    bounds: share,
    published: "verl, PPO: 36.4 % to 56.7 %",
    notRun: noGpu,
  },
  {
    id: "word-guessing-gpu",
    title: "Word guessing on one GPU",
    about:
      "Words of five letters in six guesses: 20 steps of SFT, then GRPO. The score is the share of words that are found.",
    model: "Qwen3-1.7B",
    score: "accuracy",
    bounds: share,
    published: "Qwen3-1.7B, prime-rl, wordle: 0 to about 60 %",
    notRun: noGpu,
  },
];
