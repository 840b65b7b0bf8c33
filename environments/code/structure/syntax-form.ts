/*
 * Source code reduced to names, calls and control flow, for the analysis of what uses what. Python and JavaScript are
 * both parsed into this form, so that one analysis covers both.
 */

/** An expression. */
export type FormExpression =
  /** A literal, with its truth value. */
  | { readonly k: "const"; readonly truthy: boolean }
  | { readonly k: "name"; readonly id: string }
  | { readonly k: "call"; readonly callee: FormExpression; readonly args: readonly FormExpression[] }
  /** An attribute or an item of an object. */
  | { readonly k: "member"; readonly object: FormExpression; readonly parts: readonly FormExpression[] }
  /** An anonymous function. */
  | { readonly k: "fn"; readonly params: readonly string[]; readonly body: readonly FormStatement[] }
  /** An assignment within an expression. */
  | { readonly k: "bind"; readonly id: string; readonly value: FormExpression }
  /** A comprehension, which has its own names. */
  | { readonly k: "scope"; readonly ids: readonly string[]; readonly parts: readonly FormExpression[] }
  /** A yielded value. */
  | { readonly k: "yield"; readonly value: FormExpression }
  /** Any other expression, with its parts. */
  | { readonly k: "all"; readonly parts: readonly FormExpression[] };

/** A statement. */
export type FormStatement =
  /** Names bound to a value, or to its parts. */
  | { readonly k: "set"; readonly ids: readonly string[]; readonly value: FormExpression }
  /** A change of a part of an object. `root` is the name of the object. */
  | { readonly k: "update"; readonly root: string | null; readonly value: FormExpression }
  /** An expression whose value is discarded. */
  | { readonly k: "drop"; readonly value: FormExpression }
  /** An expression that always has an effect: an assertion or a context manager. */
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
      /** The names that each iteration binds. */
      readonly ids: readonly string[];
      /** The iterated value, or the condition. */
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

/** A named function. */
export interface FormFunction {
  readonly k: "def";
  readonly id: string;
  readonly params: readonly string[];
  readonly body: readonly FormStatement[];
}

/** Parsed source code, or the parse error. Lines and columns count from 1; 0 means unknown. */
export type SyntaxForm =
  | { readonly ok: true; readonly body: readonly FormStatement[] }
  | { readonly ok: false; readonly message: string; readonly line: number; readonly column: number };
