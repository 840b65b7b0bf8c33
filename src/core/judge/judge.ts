import { LyceumError, toErrorData } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import type { Prompt } from "../../contract/prompt.ts";
import { type UnscoredReward, unscored } from "../../contract/reward.ts";
import type { AnswerCriterion } from "../rubric/criterion.ts";
import { askForVerdict } from "./ask-for-verdict.ts";
import type { StepJudge } from "./counted-judge.ts";
import { judgeModel } from "./judge-model.ts";
import { filledTemplate, judgeMessages } from "./judge-prompt.ts";
import { type VerdictForm, verdictReader } from "./verdict-form.ts";

/** What a template of a judge can name: the task and the answer. */
export interface JudgedAnswer {
  readonly task: unknown;
  readonly text: string;
}

/** The options of {@link judge}. */
export interface JudgeOptions<Context extends object> {
  /** The name of the reward component. "judge" by default. */
  readonly name?: string;
  /**
   * The model that judges: a name such as `openai:gpt-5-mini`, which the command line opens, or a policy. `judge` in a
   * config and `--judge` name another one. Without a model, one of them is required.
   */
  readonly model?: string | Policy;
  /**
   * The question to the judge. A text can have placeholders such as `{text}` and `{task.question}`; their values are
   * quoted. A function returns the prompt from the context; put texts that others wrote into `quoted`.
   */
  readonly prompt: string | ((context: Context) => Prompt);
  /** The form of the verdict, which the prompt then asks for. "yes-no" by default. */
  readonly parse?: VerdictForm;
  /** The lowest and the highest score. Only for a function as `parse`. [0, 1] by default. */
  readonly range?: readonly [minimum: number, maximum: number];
  /** The weight in a rubric. 1 by default. */
  readonly weight?: number;
  /** The number of verdicts, whose mean is the score. 1 by default. */
  readonly samples?: number;
  /** 0 by default, or 1 for several samples. */
  readonly temperature?: number;
  /** The maximum number of tokens of one answer, including its reasoning. 1,024 by default. */
  readonly maxTokens?: number;
  /** True to ask equal requests once in a run. By default if the temperature is 0. */
  readonly cache?: boolean;
  /** The timeout of one score in milliseconds, with all retries. 240,000 by default. */
  readonly limitMs?: number;
}

/** A judge that an environment lists, so that its model can be named and its requests are counted. */
export interface JudgeListing {
  readonly name: string;
  readonly model?: string | Policy | undefined;
}

/** A model that scores answers: a criterion of a rubric, and a function for `step`. */
export interface Judge<Context extends object> extends AnswerCriterion<Context>, JudgeListing {
  readonly kind: "judge";
  /**
   * Returns the score of an answer. It is unscored, with the reason, if the judge does not answer, has no verdict or has
   * no model. Pass the context of `step`, or of the reward function, with the values that the prompt needs. Rejects only
   * if `signal` aborts.
   */
  readonly score: (
    context: Context & { readonly judge?: StepJudge | undefined; readonly signal?: AbortSignal | undefined },
  ) => Promise<number | UnscoredReward>;
}

/**
 * Creates a judge: a model that reads the task and the answer and gives a verdict. Use it as a criterion of
 * `environmentFromReward` or `rubric`, or list it in `judges` of an environment and call `score` in `step`.
 *
 * The judged texts are quoted by marks that they cannot close, and the verdict is read from the last line of the judge's
 * own answer. An answer without a verdict is requested once more. A judge that fails leaves the answer unscored. Throws
 * `config.invalid` for invalid options.
 *
 * @example
 * import { environmentFromReward } from "lyceum";
 * import { judge } from "lyceum/contract";
 * export const environment = environmentFromReward({
 *   tasks: [{ question: "Why is the sky blue?", reference: "Rayleigh scattering" }],
 *   prompt: ({ question }) => question,
 *   reward: [
 *     judge({
 *       name: "correct",
 *       model: "openai:gpt-5-mini",
 *       prompt: "Question: {task.question}\nReference: {task.reference}\nAnswer: {text}\nIs the answer correct?",
 *     }),
 *   ],
 * });
 * environment.judge; // => { model: "openai:gpt-5-mini", required: true }
 */
export function judge<Context extends object = JudgedAnswer>(options: JudgeOptions<Context>): Judge<Context> {
  const { name = "judge", model, prompt, parse = "yes-no", weight, samples = 1, cache } = options;
  const { temperature = samples > 1 ? 1 : 0, maxTokens = 1024, limitMs = 240_000 } = options;
  const { instruction, read } = verdictReader(parse);
  const range = checkedRange(options);
  if (!Number.isSafeInteger(samples) || samples < 1) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The judge "${name}" cannot give ${samples} samples.`,
      hint: "Give a whole number of at least 1.",
    });
  }
  const own = typeof model === "object" ? judgeModel(model) : undefined;
  const form = instruction ?? "Answer in the form that was asked for.";
  const readScore = (text: string): { readonly verdict: number } | { readonly problem: string } => {
    const score = read(text);
    if (score === undefined) return { problem: "It does not end with a verdict in the form that was asked for." };
    return score >= range[0] && score <= range[1]
      ? { verdict: score }
      : { problem: `Its score ${score} is not in [${range.join(", ")}].` };
  };
  return {
    kind: "judge",
    name,
    model,
    ...(weight === undefined ? {} : { weight }),
    range,
    limitMs,
    score: async (context) => {
      const { judge: asked, signal } = context;
      try {
        const written = typeof prompt === "string" ? filledTemplate(prompt, context) : prompt(context);
        const question = {
          name,
          judge: asked,
          model: own,
          messages: judgeMessages(written, instruction),
          read: readScore,
          form,
          sampling: { temperature, maxTokens },
          limitMs,
          signal,
          ...(cache === undefined ? {} : { cache }),
        };
        const scores = await Promise.all(
          Array.from({ length: samples }, (_, sample) => askForVerdict({ ...question, sample })),
        );
        return scores.reduce((sum, score) => sum + score, 0) / samples;
      } catch (error) {
        signal?.throwIfAborted();
        const data = toErrorData(error, "policy.failed");
        return unscored(`The judge failed: ${data.message}`, data);
      }
    },
  };
}

function checkedRange<Context extends object>({
  name = "judge",
  parse,
  range = [0, 1],
}: JudgeOptions<Context>): readonly [number, number] {
  const isCustom = typeof parse === "function";
  if ((isCustom || (range[0] === 0 && range[1] === 1)) && range[0] < range[1]) return range;
  throw new LyceumError({
    code: "config.invalid",
    message: `The judge "${name}" has the range [${range.join(", ")}].`,
    hint: isCustom
      ? "Give the lowest and the highest score, in order."
      : "The scores of this form are from 0 to 1. Use weight to change their influence, or a function as parse.",
  });
}

/** True if a criterion of a rubric is a judge. */
export function isJudge(criterion: object): criterion is JudgeListing {
  return (criterion as Partial<Judge<object>>).kind === "judge";
}
