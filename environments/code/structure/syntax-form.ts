/*
 * Source reduced to what matters for who uses what: names, calls, and the flow of control. Python and JavaScript are
 * both read into this form, so that one analysis judges both.
 */

/** An expression. */
export type FormExpression =
  /** A literal: what a condition takes it for. */
  | { readonly k: "const"; readonly truthy: boolean }
  | { readonly k: "name"; readonly id: string }
  | { readonly k: "call"; readonly callee: FormExpression; readonly args: readonly FormExpression[] }
  /** An attribute or an item of an object. */
  | { readonly k: "member"; readonly object: FormExpression; readonly parts: readonly FormExpression[] }
  /** A function without a name. */
  | { readonly k: "fn"; readonly params: readonly string[]; readonly body: readonly FormStatement[] }
  /** An assignment within an expression. */
  | { readonly k: "bind"; readonly id: string; readonly value: FormExpression }
  /** A comprehension: names of its own. */
  | { readonly k: "scope"; readonly ids: readonly string[]; readonly parts: readonly FormExpression[] }
  /** What leaves the function in its midst. */
  | { readonly k: "yield"; readonly value: FormExpression }
  /** Anything else, made of these. */
  | { readonly k: "all"; readonly parts: readonly FormExpression[] };

/** A statement. */
export type FormStatement =
  /** Names bound to a value, or to its parts. */
  | { readonly k: "set"; readonly ids: readonly string[]; readonly value: FormExpression }
  /** A part of an object changed; `root` is the name it is reached by. */
  | { readonly k: "update"; readonly root: string | null; readonly value: FormExpression }
  /** An expression whose value is thrown away. */
  | { readonly k: "drop"; readonly value: FormExpression }
  /** An expression that matters by itself: an assertion, a context. */
  | { readonly k: "use"; readonly value: FormExpression }
  | { readonly k: "return"; readonly value: FormExpression | null }
  | { readonly k: "raise"; readonly value: FormExpression }
  | { readonly k: "break" }
  | { readonly k: "continue" }
  | {
      readonly k: "if";
      readonly test: FormExpression;
      readonly yes: readonly FormStatement[];
      readonly no: readonly FormStatement[];
    }
  | {
      readonly k: "loop";
      /** Names that each round binds. */
      readonly ids: readonly string[];
      /** What is gone through, or the condition. */
      readonly head: FormExpression;
      readonly endless: boolean;
      readonly body: readonly FormStatement[];
      readonly after: readonly FormStatement[];
    }
  | {
      readonly k: "try";
      readonly body: readonly FormStatement[];
      readonly handlers: readonly (readonly FormStatement[])[];
      readonly final: readonly FormStatement[];
    }
  | { readonly k: "block"; readonly body: readonly FormStatement[] }
  | FormFunction
  /** Names that belong to an outer scope. */
  | { readonly k: "outer"; readonly ids: readonly string[] };

/** A function by name. */
export interface FormFunction {
  readonly k: "def";
  readonly id: string;
  readonly params: readonly string[];
  readonly body: readonly FormStatement[];
}

/** Source that was read, or why it was not. Lines count from 1, columns too; 0 stands for an unknown place. */
export type SyntaxForm =
  | { readonly ok: true; readonly body: readonly FormStatement[] }
  | { readonly ok: false; readonly message: string; readonly line: number; readonly column: number };
