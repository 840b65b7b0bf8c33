import type { Action } from "../../src/contract/action.ts";
import { textMessage, textOf } from "../../src/contract/message.ts";
import type { ActRequest, ActResult, Policy } from "../../src/contract/policy.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import { fenced } from "../shared/code-turns/code-block.ts";
import { replyCode } from "../shared/code-turns/reply-code.ts";
import { codePrompt } from "./code-prompt.ts";
import { Exchange } from "./exchange.ts";

/** Ways for untrained models to play the code environment of two agents, for comparison with trained ones. */
export const codeBaselineNames = ["single", "concatenation", "sequential", "discussion"] as const;

/** One of {@link codeBaselineNames}. */
export type CodeBaselineName = (typeof codeBaselineNames)[number];

/** A policy for each agent of the code environment of two. */
export interface PairPolicies {
  readonly aux: Policy;
  readonly main: Policy;
}

/**
 * The policies of a baseline, made from a model for both agents or one for each:
 *
 * - `single`: main's model is asked for the whole function, as the only agent would be; aux writes nothing.
 * - `concatenation`: each model answers its prompt. The environment puts their code together.
 * - `sequential`: aux answers first, and main sees its code.
 * - `discussion`: both draft, then each sees the other's draft and answers once more.
 *
 * Usage counts every call of a model; tokens are left out, since they are not those of the recorded conversation. The
 * policies of one baseline know each other: give both to the same rollout.
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
            messages: told(request, `The other programmer has written this:\n\n${codeOf(request, action)}`),
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
          return added(mine, await ask(model, { ...request, messages }));
        };
      return { aux: around(aux, name, discuss("aux", aux)), main: around(main, name, discuss("main", main)) };
    }
  }
}

/** A policy that asks a model in its own way, each request by itself. */
function around(model: Policy, name: string, act: (request: ActRequest) => Promise<ActResult>): Policy {
  return { specificationVersion: "v1", name: `${name} of ${model.name}`, accepts: model.accepts, act };
}

async function ask(model: Policy, { order: _, previous: __, ...request }: ActRequest): Promise<ActResult> {
  const { action, usage } = await model.act(request);
  return { action, ...(usage === undefined ? {} : { usage }) };
}

const silence: Action = { message: textMessage("assistant", ""), finish: "stop" };

/** Main's conversation as it would be without aux. */
function askedAlone(model: Policy): (request: ActRequest) => Promise<ActResult> {
  return (request) => {
    const [, ...later] = request.messages;
    return ask(model, { ...request, messages: [textMessage("user", codePrompt(problemOf(request))), ...later] });
  };
}

/** The conversation with a text added to its last message. */
function told({ messages }: ActRequest, text: string): ActRequest["messages"] {
  const last = messages.at(-1)!;
  return [...messages.slice(0, -1), { ...last, content: [...last.content, { type: "text", text: `\n\n${text}` }] }];
}

function codeOf(request: ActRequest, { message }: Action): string {
  const { language } = problemOf(request).suite;
  return fenced(language, replyCode(textOf(message), language));
}

function problemOf({ episode }: ActRequest): CodeProblem {
  return episode!.task.task as CodeProblem;
}

/** A second call, with the usage of both. */
function added(first: ActResult, second: ActResult): ActResult {
  if (first.usage === undefined || second.usage === undefined) return second;
  const usage = {
    promptTokens: first.usage.promptTokens + second.usage.promptTokens,
    completionTokens: first.usage.completionTokens + second.usage.completionTokens,
  };
  return { ...second, usage };
}
