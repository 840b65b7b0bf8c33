import type { Action } from "../../src/contract/action.ts";
import { textMessage, textOf } from "../../src/contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../src/contract/policy.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { fenced } from "../shared/code-turns/code-block.ts";
import { replyCode } from "../shared/code-turns/reply-code.ts";
import { codePrompt } from "./code-prompt.ts";
import { Exchange } from "./exchange.ts";
import { auxName } from "./structure/pair-structure.ts";

/**
 * Strategies that let untrained models play the code environment with two agents, for comparison with trained models.
 */
export const codeBaselineNames = ["single", "concatenation", "sequential", "discussion"] as const;

/** One of {@link codeBaselineNames}. */
export type CodeBaselineName = (typeof codeBaselineNames)[number];

/** A policy for each agent of the code environment with two agents. */
export interface PairPolicies {
  readonly aux: Policy;
  readonly main: Policy;
}

/**
 * Returns the policies of a baseline, for one model that plays both agents or one model per agent:
 *
 * - `single`: main's model gets the prompt of a single agent and writes the whole function. aux writes nothing.
 * - `concatenation`: each model answers its prompt. The environment joins their code.
 * - `sequential`: aux answers first, and main sees its code.
 * - `discussion`: both write a draft, see the other's draft, and answer again.
 *
 * The usage covers all calls of a model. Tokens are left out, because they differ from those of the recorded
 * conversation. The two policies of a baseline communicate with each other, so use both in the same rollout.
 */
export function codeBaseline(
  name: CodeBaselineName,
  models: Policy | PairPolicies,
): Readonly<Record<"aux" | "main", Policy>> {
  const { aux, main } = "act" in models ? { aux: models, main: models } : models;
  switch (name) {
    case "single":
      return { aux: around(aux, name, async () => ({ action: silence })), main: around(main, name, askedAlone(main)) };
    case "concatenation":
      return { aux, main };
    case "sequential": {
      const exchange = new Exchange();
      return {
        aux: around(aux, name, (request) => exchange.give("aux", request, () => ask(aux, request))),
        main: around(main, name, async (request) => {
          const { action } = await exchange.wait("aux", request);
          return ask(main, {
            ...request,
            messages: withText(request, `The other programmer has written this:\n\n${codeOf(request, action)}`),
          });
        }),
      };
    }
    case "discussion": {
      const exchange = new Exchange();
      const discuss =
        (own: "aux" | "main", model: Policy) =>
        async (request: ActRequest): Promise<ActResult> => {
          const seed = deriveSeed(request.seed, "draft");
          const draft = exchange.give(own, request, () => ask(model, { ...request, seed }));
          const [mine, theirs] = await Promise.all([draft, exchange.wait(own === "aux" ? "main" : "aux", request)]);
          const answer = `The other programmer has drafted this:\n\n${codeOf(request, theirs.action)}\n\nRevise your code so that both work together. Answer in the same form.`;
          const messages = [...request.messages, mine.action.message, textMessage("user", answer)];
          return withUsageOfBoth(mine, await ask(model, { ...request, messages }));
        };
      return { aux: around(aux, name, discuss("aux", aux)), main: around(main, name, discuss("main", main)) };
    }
  }
}

/** Returns a policy that calls a model with `act`. */
function around(model: Policy, name: string, act: (request: ActRequest) => Promise<ActResult>): Policy {
  return { specificationVersion: "v1", name: `${name} of ${model.name}`, accepts: model.accepts, act };
}

async function ask(model: Policy, { order: _, previous: __, last: ___, ...request }: ActRequest): Promise<ActResult> {
  const { action, usage } = await model.act(request);
  return { action, usage };
}

const silence: Action = { message: textMessage("assistant", ""), finish: "stop" };

/** Asks main's model with the prompt of a single agent. */
function askedAlone(model: Policy): (request: ActRequest) => Promise<ActResult> {
  return (request) => {
    const [, ...later] = request.messages;
    return ask(model, { ...request, messages: [textMessage("user", codePrompt(problemOf(request))), ...later] });
  };
}

/** Returns the conversation with a text appended to its last message. */
function withText({ messages }: ActRequest, text: string): ActRequest["messages"] {
  const last = messages.at(-1)!;
  return [...messages.slice(0, -1), { ...last, content: [...last.content, { type: "text", text: `\n\n${text}` }] }];
}

/** Returns the other agent's code. */
function codeOf(request: ActRequest, { message }: Action): string {
  const { entryPoint, suite } = problemOf(request);
  const { language } = suite;
  const names = [request.agent === "aux" ? entryPoint : auxName];
  return fenced(language, replyCode(textOf(message), { language, names }));
}

function problemOf({ episode }: ActRequest): CodeProblem {
  return episode!.task.task as CodeProblem;
}

/** Returns the second result with the usage of both calls. */
function withUsageOfBoth(first: ActResult, second: ActResult): ActResult {
  if (first.usage === undefined || second.usage === undefined) return second;
  const usage = {
    promptTokens: first.usage.promptTokens + second.usage.promptTokens,
    completionTokens: first.usage.completionTokens + second.usage.completionTokens,
  };
  return { ...second, usage };
}
