import type { InstanceJudge, JudgeReply, JudgeRequest, JudgeUsage } from "../../contract/judge.ts";

/** The judge of one step. `score` of a judge asks through it, so that the requests count as those of the episode. */
export interface StepJudge {
  /** Rejects like `JudgeModel.ask`. Resolves to undefined if neither the environment nor the request has a model. */
  ask(request: JudgeRequest): Promise<JudgeReply | undefined>;
}

/** Counts the requests of one step. The environment's opened model takes precedence over that of a request. */
export function countedJudge({ model, limit }: InstanceJudge): StepJudge & { usage(): JudgeUsage | undefined } {
  const counts = { requests: 0, cached: 0, failed: 0, promptTokens: 0, completionTokens: 0 };
  return {
    ask: async (request) => {
      const asked = model ?? request.model;
      if (asked === undefined) return undefined;
      let sent = false;
      const taken = {
        take: () => {
          limit?.take();
          request.limit?.take();
          sent = true;
          counts.requests += 1;
        },
      };
      try {
        const reply = await asked.ask({ ...request, limit: taken });
        if (reply.cached) counts.cached += 1;
        else {
          counts.promptTokens += reply.usage?.promptTokens ?? 0;
          counts.completionTokens += reply.usage?.completionTokens ?? 0;
        }
        return reply;
      } catch (error) {
        if (sent) counts.failed += 1;
        throw error;
      }
    },
    usage: () => (counts.requests + counts.cached === 0 ? undefined : { ...counts }),
  };
}
