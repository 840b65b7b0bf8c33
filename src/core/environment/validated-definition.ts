import { describeValue, isPromise } from "../../contract/describe-value.ts";
import type { SingleAgentDefinition } from "./define-environment.ts";
import type { ParallelDefinition } from "./define-parallel-environment.ts";
import { contractError, environmentFailure } from "./environment-error.ts";
import { unknownKey } from "./unknown-key.ts";
import type { ReturnProblem } from "./validate-prompt.ts";
import { parallelResetProblem, resetProblem } from "./validate-reset.ts";
import { parallelStepProblem, stepProblem } from "./validate-step.ts";

const sharedKeys = {
  id: true,
  description: true,
  tasks: true,
  splits: true,
  maxTurns: true,
  rewardRange: true,
  deterministic: true,
  statesCorrect: true,
  judges: true,
  groupOf: true,
  tools: true,
  templateVariables: true,
  open: true,
  reset: true,
  step: true,
  fork: true,
  demonstrate: true,
} as const;
const singleKeys = Object.keys({
  ...sharedKeys,
  toolProtocol: true,
  toolLimits: true,
  afterCalls: true,
} satisfies Record<keyof SingleAgentDefinition<unknown>, true>);
const parallelKeys = Object.keys({ ...sharedKeys, agents: true } satisfies Record<
  keyof ParallelDefinition<string, unknown>,
  true
>);

/**
 * Returns a definition whose functions check their results and add the place to errors. Throws `environment.contract`
 * if a function is missing or a key is unknown.
 */
export function validatedDefinition<Task, State, Opened extends AsyncDisposable | undefined, Schemas>(
  definition: SingleAgentDefinition<Task, State, Opened, Schemas>,
): SingleAgentDefinition<Task, State, Opened, Schemas> {
  checkDefinition(definition, singleKeys);
  const { id, reset, step, demonstrate } = definition;
  return {
    ...definition,
    reset: authored(reset, { environment: id, call: "reset", problemOf: resetProblem }),
    step: authored(step, { environment: id, call: "step", problemOf: (outcome) => stepProblem(outcome, definition) }),
    ...(demonstrate === undefined ? {} : { demonstrate: expert(demonstrate, id) }),
  };
}

/** The version of {@link validatedDefinition} for several agents. */
export function validatedParallelDefinition<
  Agent extends string,
  Task,
  State,
  Opened extends AsyncDisposable | undefined,
>(definition: ParallelDefinition<Agent, Task, State, Opened>): ParallelDefinition<Agent, Task, State, Opened> {
  checkDefinition(definition, parallelKeys);
  const { id, reset, step, demonstrate } = definition;
  return {
    ...definition,
    reset: authored(reset, {
      environment: id,
      call: "reset",
      problemOf: (outcome) => parallelResetProblem(outcome, definition),
    }),
    step: authored(step, {
      environment: id,
      call: "step",
      problemOf: (outcome) => parallelStepProblem(outcome, definition),
    }),
    ...(demonstrate === undefined ? {} : { demonstrate: expert(demonstrate, id) }),
  };
}

function checkDefinition(definition: { readonly id: string }, keys: readonly string[]): void {
  const { id, reset, step, demonstrate, groupOf } = definition as { readonly id: string } & Record<string, unknown>;
  const environment = String(id);
  const optional = Object.entries({ demonstrate, groupOf }).filter(([, value]) => value !== undefined);
  for (const [name, value] of [...Object.entries({ reset, step }), ...optional]) {
    if (typeof value === "function") continue;
    const rule = `Give it a function ${name}. Its keys: ${keys.join(", ")}.`;
    throw contractError({ environment, problem: `has ${describeValue(value)} as ${name}`, rule });
  }
  const unknown = unknownKey(definition, keys);
  if (unknown === undefined) return;
  throw contractError({
    environment,
    problem: `has ${unknown.found} in its definition`,
    rule: unknown.rule(`Its keys: ${keys.join(", ")}.`),
  });
}

/** Wraps an author's function: awaits it, checks its result and adds the place to errors. */
function authored<Context, Outcome>(
  written: (context: Context) => Outcome | Promise<Outcome>,
  options: {
    readonly environment: string;
    readonly call: string;
    readonly problemOf: (outcome: unknown) => ReturnProblem | undefined;
  },
): (context: Context) => Promise<Outcome> {
  const { environment, call, problemOf } = options;
  return async (context) => {
    const outcome = await thrownBy(written, { environment, call }, () => written(context));
    const found = problemOf(outcome);
    if (found !== undefined) throw contractError({ environment, ...found, by: written });
    return outcome;
  };
}

/** Wraps an author's `demonstrate`. It must be synchronous, because supervised training calls it for every turn. */
function expert<Task, Context, Answers>(
  written: (task: Task, context: Context) => Answers,
  environment: string,
): (task: Task, context: Context) => Answers {
  const call = "demonstrate";
  return (task, context) => {
    let answers: Answers;
    try {
      answers = written(task, context);
    } catch (error) {
      throw environmentFailure({ environment, call, error, by: written });
    }
    const odd = [answers].flat().find((answer) => !isAnswer(answer));
    if (answers === undefined || (odd === undefined && !isPromise(answers))) return answers;
    throw contractError({
      environment,
      problem: `returned ${describeValue(isPromise(answers) ? answers : odd)} from demonstrate`,
      rule: "Return the answers themselves, one a turn, or undefined if none is known. demonstrate cannot be async.",
      by: written,
    });
  };
}

function isAnswer(answer: unknown): boolean {
  return typeof answer === "string" || (typeof answer === "object" && answer !== null && !isPromise(answer));
}

async function thrownBy<T>(
  written: object,
  place: { readonly environment: string; readonly call: string },
  start: () => T | Promise<T>,
): Promise<T> {
  try {
    return await start();
  } catch (error) {
    throw environmentFailure({ ...place, error, by: written });
  }
}
