import type { PythonToken } from "./python-tokens.ts";

/** An expression in the subset of Python that function tests use. */
export type PythonExpression =
  | { readonly kind: "number" | "string"; readonly text: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "list" | "tuple" | "set"; readonly items: readonly PythonExpression[] }
  | { readonly kind: "dict"; readonly entries: readonly (readonly [PythonExpression, PythonExpression])[] }
  | { readonly kind: "unary"; readonly operator: string; readonly operand: PythonExpression }
  | BinaryExpression
  | { readonly kind: "attribute"; readonly of: PythonExpression; readonly name: string }
  | CallExpression;

/** An arithmetic operation, or one comparison. */
export interface BinaryExpression {
  readonly kind: "binary" | "compare";
  readonly operator: string;
  readonly left: PythonExpression;
  readonly right: PythonExpression;
}

/** A call. */
export interface CallExpression {
  readonly kind: "call";
  readonly callee: PythonExpression;
  readonly args: readonly PythonExpression[];
  readonly kwargs: readonly (readonly [string, PythonExpression])[];
}

const maxDepth = 200;
const keywords = new Set(
  "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);
const comparisons = ["==", "!=", "<", "<=", ">", ">="];

/**
 * Parses the expression at the start of the tokens. Returns it and the number of its tokens. Undefined if there is
 * none, or if it is outside the supported subset: conditions, comprehensions, lambdas, subscripts, chained comparisons
 * and stars are not supported.
 */
export function parsePythonExpression(
  tokens: readonly PythonToken[],
): { readonly expression: PythonExpression; readonly length: number } | undefined {
  const parser = new Parser(tokens);
  try {
    const expression = parser.negation();
    return { expression, length: parser.at };
  } catch (error) {
    if (error instanceof Unreadable) return undefined;
    throw error;
  }
}

class Unreadable extends Error {}

class Parser {
  readonly #tokens: readonly PythonToken[];
  at = 0;
  #depth = 0;

  constructor(tokens: readonly PythonToken[]) {
    this.#tokens = tokens;
  }

  /** `not`, or a comparison. */
  negation(): PythonExpression {
    if (++this.#depth > maxDepth) throw new Unreadable();
    const negated = this.#accept("not");
    const expression: PythonExpression = negated
      ? { kind: "unary", operator: "not", operand: this.negation() }
      : this.#comparison();
    if (["and", "or", "if", "for", "async", ":="].includes(this.#next)) throw new Unreadable();
    this.#depth--;
    return expression;
  }

  #comparison(): PythonExpression {
    const left = this.#sum();
    const operator = this.#comparisonOperator();
    if (operator === undefined) return left;
    const right = this.#sum();
    if (this.#comparisonOperator() !== undefined) throw new Unreadable();
    return { kind: "compare", operator, left, right };
  }

  #comparisonOperator(): string | undefined {
    const next = this.#next;
    if (next === "in" || next === "not") throw new Unreadable();
    if (this.#accept("is")) return this.#accept("not") ? "is not" : "is";
    if (!comparisons.includes(next)) return undefined;
    this.at++;
    return next;
  }

  #sum(): PythonExpression {
    let left = this.#product();
    while (this.#next === "+" || this.#next === "-") {
      left = { kind: "binary", operator: this.#take(), left, right: this.#product() };
    }
    if (["|", "&", "^", "<<", ">>"].includes(this.#next)) throw new Unreadable();
    return left;
  }

  #product(): PythonExpression {
    let left = this.#signed();
    while (["*", "/", "//", "%"].includes(this.#next)) {
      left = { kind: "binary", operator: this.#take(), left, right: this.#signed() };
    }
    if (this.#next === "@") throw new Unreadable();
    return left;
  }

  #signed(): PythonExpression {
    if (!["-", "+", "~"].includes(this.#next)) return this.#power();
    if (++this.#depth > maxDepth) throw new Unreadable();
    const expression: PythonExpression = { kind: "unary", operator: this.#take(), operand: this.#signed() };
    this.#depth--;
    return expression;
  }

  #power(): PythonExpression {
    const left = this.#primary();
    return this.#accept("**") ? { kind: "binary", operator: "**", left, right: this.#signed() } : left;
  }

  #primary(): PythonExpression {
    let expression = this.#atom();
    for (;;) {
      if (this.#accept("(")) expression = this.#call(expression);
      else if (this.#accept(".")) expression = { kind: "attribute", of: expression, name: this.#name() };
      else if (this.#next === "[") throw new Unreadable();
      else return expression;
    }
  }

  #call(callee: PythonExpression): PythonExpression {
    const args: PythonExpression[] = [];
    const kwargs: (readonly [string, PythonExpression])[] = [];
    while (!this.#accept(")")) {
      if (this.#tokens[this.at]?.kind === "name" && this.#tokens[this.at + 1]?.text === "=") {
        const name = this.#name();
        this.at++;
        kwargs.push([name, this.negation()]);
      } else {
        if (kwargs.length > 0) throw new Unreadable();
        args.push(this.negation());
      }
      if (!this.#accept(",") && this.#next !== ")") throw new Unreadable();
    }
    return { kind: "call", callee, args, kwargs };
  }

  #atom(): PythonExpression {
    const token = this.#tokens[this.at];
    switch (token?.kind) {
      case "number":
        this.at++;
        return { kind: "number", text: token.text };
      case "string":
        return this.#strings();
      case "name":
        return { kind: "name", name: this.#name() };
      case "operator":
        this.at++;
        if (token.text === "(") return this.#parenthesis();
        if (token.text === "[") return { kind: "list", items: this.#items("]") };
        if (token.text === "{") return this.#braces();
    }
    throw new Unreadable();
  }

  /** Adjacent strings are one string. */
  #strings(): PythonExpression {
    let expression: PythonExpression | undefined;
    for (let token = this.#tokens[this.at]; token?.kind === "string"; token = this.#tokens[++this.at]) {
      const right: PythonExpression = { kind: "string", text: token.text };
      expression = expression === undefined ? right : { kind: "binary", operator: "+", left: expression, right };
    }
    return expression!;
  }

  #parenthesis(): PythonExpression {
    if (this.#accept(")")) return { kind: "tuple", items: [] };
    const first = this.negation();
    if (this.#accept(")")) return first;
    if (!this.#accept(",")) throw new Unreadable();
    return { kind: "tuple", items: [first, ...this.#items(")")] };
  }

  #braces(): PythonExpression {
    if (this.#accept("}")) return { kind: "dict", entries: [] };
    const first = this.negation();
    if (this.#next !== ":") {
      if (this.#accept("}")) return { kind: "set", items: [first] };
      if (!this.#accept(",")) throw new Unreadable();
      return { kind: "set", items: [first, ...this.#items("}")] };
    }
    const entries: (readonly [PythonExpression, PythonExpression])[] = [];
    for (let key = first; ; key = this.negation()) {
      if (!this.#accept(":")) throw new Unreadable();
      entries.push([key, this.negation()]);
      const more = this.#accept(",");
      if (this.#accept("}")) return { kind: "dict", entries };
      if (!more) throw new Unreadable();
    }
  }

  #items(close: string): PythonExpression[] {
    const items: PythonExpression[] = [];
    while (!this.#accept(close)) {
      items.push(this.negation());
      if (!this.#accept(",") && this.#next !== close) throw new Unreadable();
    }
    return items;
  }

  #name(): string {
    const token = this.#tokens[this.at];
    if (token?.kind !== "name" || keywords.has(token.text)) throw new Unreadable();
    this.at++;
    return token.text;
  }

  /** The next name or operator, or an empty text. */
  get #next(): string {
    const token = this.#tokens[this.at];
    return token?.kind === "name" || token?.kind === "operator" ? token.text : "";
  }

  #take(): string {
    return this.#tokens[this.at++]!.text;
  }

  #accept(text: string): boolean {
    if (this.#next !== text) return false;
    this.at++;
    return true;
  }
}
