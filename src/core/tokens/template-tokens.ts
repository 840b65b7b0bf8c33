/**
 * Corrections of tokens that the parser of `@huggingface/jinja` refuses: floats with an exponent (`1e-7`), a comma at
 * the end of a tuple (`(1,)`), the empty tuple, and tests with an argument (`is divisibleby(3)`, `is in names`). Large
 * integers, which it rounds, and groups before a comparison, which it forgets, are marked.
 */

/** A token of a template's source. */
export interface Token {
  readonly type: string;
  readonly value: string;
}

/** The name of a variable that ends a tuple after a comma. `correctTemplate` removes it. */
export const tupleEnd = "__tuple_end";

/** The filter that marks `(a < b)` in `(a < b) < c`, which is not the chain `a < b < c`. */
export const groupMark = "__group";

/** The prefix of the filters that replace tests with an argument, such as `__is_divisibleby`. */
export const testPrefix = "__is_";

/** The prefix for `is not`. */
export const negatedTestPrefix = "__is_not_";

/** The tests of Jinja that have an argument. The parentheses around it may be absent. */
const testsWithArgument: ReadonlySet<string> = new Set([
  "divisibleby",
  "sameas",
  "in",
  "eq",
  "equalto",
  "ne",
  "gt",
  "greaterthan",
  "ge",
  "lt",
  "lessthan",
  "le",
]);

const opening: ReadonlySet<string> = new Set(["OpenParen", "OpenSquareBracket", "OpenCurlyBracket"]);
const closing: ReadonlySet<string> = new Set(["CloseParen", "CloseSquareBracket", "CloseCurlyBracket"]);

/** Words after which a parenthesis does not begin the arguments of a call. */
const keywords: ReadonlySet<string> = new Set(["in", "is", "and", "or", "not", "if", "elif", "else", "set", "for"]);

/** Returns the tokens in a form that the parser of `@huggingface/jinja` reads. */
export function correctTokens(tokens: readonly Token[]): Token[] {
  return withTests(withTuples(withGroups(withNumbers(tokens))));
}

const token = (type: string, value: string): Token => ({ type, value });

/**
 * Joins the parts of a number: `1`, `e`, `-`, `7`. Outside of a number, no name follows a digit. A large integer becomes
 * a text that is read as an integer.
 */
function withNumbers(tokens: readonly Token[]): Token[] {
  const result: Token[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const { type, value } = tokens[i]!;
    const [exponent, sign, digits] = [tokens[i + 1], tokens[i + 2], tokens[i + 3]];
    const isExponent = type === "NumericLiteral" && exponent?.type === "Identifier";
    // The parser takes a number without a point for an integer.
    const mantissa = value.includes(".") ? value : `${value}.0`;
    if (isExponent && /^e\d+$/i.test(exponent.value)) {
      result.push(token(type, mantissa + exponent.value));
      i += 1;
    } else if (isExponent && /^e$/i.test(exponent.value) && sign?.type === "AdditiveBinaryOperator") {
      result.push(token(type, `${mantissa}e${sign.value}${digits?.value}`));
      i += 3;
    } else if (type === "NumericLiteral" && !value.includes(".") && !Number.isSafeInteger(Number(value))) {
      const text = [token("StringLiteral", value), token("Pipe", "|"), token("Identifier", "int")];
      result.push(token("OpenParen", "("), ...text, token("CloseParen", ")"));
    } else result.push(tokens[i]!);
  }
  return result;
}

/** Writes {@link groupMark} into a comparison in parentheses that another one follows. */
function withGroups(tokens: readonly Token[]): Token[] {
  const result: Token[] = [];
  const starts: number[] = [];
  for (const [i, given] of tokens.entries()) {
    if (opening.has(given.type))
      starts.push(given.type === "OpenParen" && !endsValue(tokens, i - 1) ? result.length : -1);
    result.push(given);
    const start = closing.has(given.type) ? (starts.pop() ?? -1) : -1;
    if (
      start < 0 ||
      !isComparisonAt(tokens, i + 1) ||
      !result.slice(start).some((_, at, all) => isComparisonAt(all, at))
    )
      continue;
    result.splice(start, 0, token("OpenParen", "("));
    result.push(token("Pipe", "|"), token("Identifier", groupMark), token("CloseParen", ")"));
  }
  return result;
}

function isComparisonAt(tokens: readonly Token[], at: number): boolean {
  const { type, value } = tokens[at] ?? {};
  if (type === "ComparisonBinaryOperator") return true;
  return type === "Identifier" && (value === "in" || (value === "not" && tokens[at + 1]?.value === "in"));
}

/** Writes {@link tupleEnd} after a comma at the end of a tuple, and twice into an empty one. */
function withTuples(tokens: readonly Token[]): Token[] {
  const result: Token[] = [];
  const isTuple: boolean[] = [];
  const end = token("Identifier", tupleEnd);
  for (const [i, given] of tokens.entries()) {
    const before = tokens[i - 1];
    if (given.type === "OpenParen") isTuple.push(!endsValue(tokens, i - 1));
    else if (opening.has(given.type)) isTuple.push(false);
    else if (closing.has(given.type)) {
      const inTuple = isTuple.pop() === true;
      if (inTuple && before?.type === "OpenParen") result.push(end, token("Comma", ","), end);
      else if (inTuple && before?.type === "Comma") result.push(end);
    } else if (given.type === "CloseStatement" && before?.type === "Comma") result.push(end);
    result.push(given);
  }
  return result;
}

/** True if a parenthesis after the token at `at` begins the arguments of a call. */
function endsValue(tokens: readonly Token[], at: number): boolean {
  const { type = "", value = "" } = tokens[at] ?? {};
  if (type !== "Identifier") return closing.has(type);
  return !keywords.has(value) || tokens[at - 1]?.type === "Dot";
}

/** Turns a test with an argument into a filter, `x | __is_divisibleby(3)`, which has the same precedence. */
function withTests(tokens: readonly Token[]): Token[] {
  const result: Token[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const given = tokens[i]!;
    const isNegated = tokens[i + 1]?.value === "not" && tokens[i + 1]?.type === "Identifier";
    const at = i + (isNegated ? 2 : 1);
    const name = tokens[at];
    const isWord = given.type === "Identifier" && given.value === "is" && tokens[i - 1]?.type !== "Dot";
    const isCall = tokens[at + 1]?.type === "OpenParen";
    if (!isWord || name?.type !== "Identifier" || !(isCall || testsWithArgument.has(name.value))) {
      result.push(given);
      continue;
    }
    const stop = isCall ? groupEnd(tokens, at + 1) : argumentEnd(tokens, at + 1);
    const inner = withTests(tokens.slice(isCall ? at + 2 : at + 1, isCall ? stop - 1 : stop));
    const filter = token("Identifier", (isNegated ? negatedTestPrefix : testPrefix) + name.value);
    result.push(token("Pipe", "|"), filter, token("OpenParen", "("), ...inner, token("CloseParen", ")"));
    i = stop - 1;
  }
  return result;
}

/** Returns the position after the bracket that closes the one at `start`. */
function groupEnd(tokens: readonly Token[], start: number): number {
  let depth = 0;
  for (let i = start; i < tokens.length; i++) {
    if (opening.has(tokens[i]!.type)) depth += 1;
    else if (closing.has(tokens[i]!.type)) depth -= 1;
    if (depth === 0) return i + 1;
  }
  return tokens.length;
}

/** Returns the position after one value with its attributes, items and calls: `names`, `[1, 2]`, `a.b['c']`. */
function argumentEnd(tokens: readonly Token[], start: number): number {
  const isOpening = (at: number): boolean => opening.has(tokens[at]?.type ?? "");
  let end = isOpening(start) ? groupEnd(tokens, start) : start + 1;
  for (;;) {
    if (tokens[end]?.type === "Dot") end += 2;
    else if (isOpening(end) && tokens[end]!.type !== "OpenCurlyBracket") end = groupEnd(tokens, end);
    else return end;
  }
}
