import { z } from "zod";
import type { EnvironmentDefinition } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { InstanceJudge, JudgeDeclaration } from "../../contract/judge.ts";
import type { Policy } from "../../contract/policy.ts";
import { policySpecificationSchema } from "../policy/policy-specification.ts";
import type { JudgeListing } from "./judge.ts";
import { missingJudge } from "./judge-errors.ts";
import { judgeModel, judgeRequestLimit } from "./judge-model.ts";

/**
 * Returns an environment whose judges ask `policy`, at most `maxRequests` times in total. Without a policy, they keep
 * theirs. The caller closes the policy. Equal requests are asked once. Throws `config.invalid` for an environment
 * without judges.
 *
 * @example
 * import { environmentFromReward, scriptedPolicy } from "lyceum";
 * import { judge, withJudge } from "lyceum/contract";
 * const environment = environmentFromReward({
 *   tasks: ["Say hello."],
 *   prompt: (task) => task,
 *   reward: [judge({ name: "polite", prompt: "Is this polite?\n{text}" })],
 * });
 * const policy = scriptedPolicy(() => "Verdict: yes");
 * withJudge(environment, { policy, maxRequests: 100 }).judge?.opened; // => "scripted"
 */
export function withJudge<Task>(
  environment: EnvironmentDefinition<Task>,
  { policy, maxRequests }: { readonly policy?: Policy | undefined; readonly maxRequests?: number | undefined },
): EnvironmentDefinition<Task> {
  const { judge } = environment;
  if (judge === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: `Environment "${environment.spec.id}" has no judge.`,
      hint: "List its judges: judges: [...]. Criteria of environmentFromReward are listed by themselves.",
    });
  }
  const model = policy === undefined ? undefined : judgeModel(policy);
  const limit = maxRequests === undefined ? undefined : judgeRequestLimit(maxRequests);
  return {
    ...environment,
    judge: { ...judge, ...(model === undefined ? {} : { opened: model.name }) },
    create: (options = {}) => {
      const own: InstanceJudge = {
        model: options.judge?.model ?? model,
        limit: bothLimits(options.judge?.limit, limit),
      };
      return environment.create({ ...options, judge: own });
    },
  };
}

/** Returns what a definition says about its judges. Throws `config.invalid` if two of them name different models. */
export function judgeDeclaration(
  environment: string,
  judges: readonly JudgeListing[] = [],
): JudgeDeclaration | undefined {
  if (judges.length === 0) return undefined;
  const names = new Set(judges.flatMap(({ model }) => (typeof model === "string" ? [model] : [])));
  if (names.size > 1) {
    throw new LyceumError({
      code: "config.invalid",
      message: `The judges of environment "${environment}" name ${names.size} models: ${[...names].join(", ")}.`,
      hint: "An environment has one judge model that is given by name. Give the other judges a policy as their model.",
    });
  }
  const [model] = names;
  return {
    ...(model === undefined ? {} : { model }),
    required: judges.some((judge) => typeof judge.model !== "object"),
  };
}

/** Throws `config.invalid` if an environment needs a judge model and none is opened. */
export function checkJudge({
  spec,
  judge,
}: Pick<EnvironmentDefinition, "judge"> & { readonly spec: { readonly id: string } }): void {
  if (judge?.required === true && judge.opened === undefined) throw missingJudge(spec.id);
}

/**
 * The options of an environment with judges: `judge` and `judgeRequests`. Use them in the options of an entry.
 *
 * @example
 * import { judgeOptions } from "lyceum/contract";
 * import { z } from "zod";
 * const options = z.object({ ...judgeOptions("openai:gpt-5-mini"), rounds: z.int().default(2) });
 * options.parse({}).judge; // => "openai:gpt-5-mini"
 */
export function judgeOptions(model?: string) {
  const judge = policySpecificationSchema
    .optional()
    .describe("The model that judges, such as openai:gpt-5-mini (see policies.md).");
  return {
    judge: model === undefined ? judge : judge.default(model),
    judgeRequests: z.int().min(1).optional().describe("The maximum number of requests to the judge in a run."),
  };
}

function bothLimits(first: InstanceJudge["limit"], second: InstanceJudge["limit"]): InstanceJudge["limit"] {
  if (first === undefined || second === undefined) return first ?? second;
  return {
    take: () => {
      first.take();
      second.take();
    },
  };
}
