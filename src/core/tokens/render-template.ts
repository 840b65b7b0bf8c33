import * as jinja from "@huggingface/jinja";
import {
  Environment,
  type Node,
  PythonInterpreter,
  runtimeValue,
  type Scope,
  type Value,
} from "./template-corrections.ts";

/**
 * The maximum number of steps of one rendering. A long conversation needs about 100 steps per message. The maximum
 * takes less than a second.
 */
const mostSteps = 2_000_000;

/** The maximum length of a text that a template creates. */
const mostCharacters = 50_000_000;

/** The number of steps per loop iteration, because each iteration has its own variables. */
const stepsOfRound = 10;

/** The number of characters of a text that count as one step. */
const charactersOfStep = 100;

/**
 * Renders a parsed Jinja template as text. Templates come with models from untrusted sources, so their work is limited:
 * throws an `Error` for an infinite loop, and for a text or a list that grows without limit.
 */
export function renderTemplate(
  program: jinja.Template["parsed"],
  variables: Readonly<Record<string, unknown>>,
): string {
  const environment = new Environment();
  const interpreter = new BoundedInterpreter(environment);
  const globals = {
    ...constants,
    range: (...bounds: number[]) => interpreter.range(bounds),
    strftime_now: (format: string) => new jinja.Template("{{ strftime_now(format) }}").render({ format }),
    raise_exception: (message: string) => {
      throw new Error(message);
    },
  };
  for (const [name, value] of Object.entries({ ...globals, ...variables }))
    environment.setVariable(name, runtimeValue(value));
  return String(interpreter.run(program).value);
}

const constants = { true: true, True: true, false: false, False: false, none: null, None: null };

/** Counts the work of a template: statements, expressions, the length of their texts, and the visited items. */
class BoundedInterpreter extends PythonInterpreter {
  #steps = 0;
  /** Nodes whose value is visited item by item, with the steps per item. */
  readonly #visited = new WeakMap<object, number>();

  override evaluate(node: Node | undefined, scope: Scope): Value {
    this.#count(1);
    for (const part of visitedParts(node ?? {})) this.#visited.set(part, node?.type === "For" ? stepsOfRound : 1);
    const result = super.evaluate(node, scope);
    const { value } = result;
    if (typeof value === "string") {
      if (value.length > mostCharacters) throw new Error(`it creates a text of more than ${mostCharacters} characters`);
      this.#count(Math.floor(value.length / charactersOfStep));
    } else if (node !== undefined) {
      const items = Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0;
      this.#count(items * (this.#visited.get(node) ?? 0));
    }
    return result;
  }

  /** Python's `range`. Each item counts as one step. */
  range(bounds: readonly number[]): number[] {
    const [start, stop, step = 1] = bounds.length === 1 ? [0, bounds[0]!] : (bounds as [number, number, number?]);
    if (step === 0) throw new Error("range() step must not be zero");
    const length = Math.max(0, Math.ceil((stop - start) / step));
    this.#count(length);
    return Array.from({ length }, (_, i) => start + i * step);
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > mostSteps) throw new Error(`it takes more than ${mostSteps} steps`);
  }
}

/** Filters that read at most one item. */
const quickFilters: readonly unknown[] = ["length", "count", "first", "last"];

/** Returns the parts of a statement whose items are visited one by one. */
function visitedParts({ type, iterable, lhs, left, right, operand, filter }: Node): readonly object[] {
  const parts = {
    // A loop with a condition evaluates the iterable before the condition itself.
    For: [(iterable as Node | undefined)?.type === "SelectExpression" ? (iterable as Node).lhs : iterable],
    SelectExpression: [lhs],
    BinaryExpression: [left, right],
    FilterExpression: quickFilters.includes((filter as Node | undefined)?.value) ? [] : [operand],
  }[String(type)];
  return (parts ?? []).filter((part) => typeof part === "object" && part !== null);
}
