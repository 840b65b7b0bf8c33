import { absolute, greatestCommonDivisor } from "../rational.ts";

/** An expression as written, in MathJSON: a number, a symbol, or an operator with its operands. */
export type MathJson = number | string | { readonly num: string } | MathOperation;

interface MathOperation extends ReadonlyArray<MathJson> {
  readonly 0: string;
}

/** A kind of work that an expression in simple form may not leave undone. */
export type UnfinishedWork =
  /** Numbers that can still be added, multiplied or raised to a power: `4 \cdot 3`, `2^3`. */
  | "arithmetic"
  /** Zeros and ones that change nothing, and signs that cancel: `x + 0`, `x^1`, `--x`. */
  | "idle parts"
  /** Like terms or factors: `2x + 3x`, `x \cdot x`. */
  | "like terms"
  /** A fraction with a common factor, or a fraction of fractions: `6/8`, `\frac{(x-1)(x+1)}{x-1}`. */
  | "fraction"
  /** An unknown in a denominator. */
  | "unknown divisor"
  /** A root that can be partly extracted or combined: `\sqrt{12}`, `\sqrt{2}\sqrt{3}`, `\sqrt{\frac{2}{3}}`. */
  | "root"
  /** A root in a denominator. */
  | "root divisor"
  /** A product or a power of sums: `(x+1)(x+2)`. */
  | "product of sums";

/** Returns all kinds of work that an expression leaves undone. */
export function unfinishedWork(json: MathJson): ReadonlySet<UnfinishedWork> {
  const found = new Set<UnfinishedWork>();
  visit(unwrapped(json), found);
  return found;
}

/** Returns the number of factors with an unknown: 3 for `2x(x+1)^2`, 1 for a sum. */
export function unknownFactors(json: MathJson): number {
  const factors = factorsOf(unwrapped(json)).filter((factor) => anywhere(factor, isUnknown));
  const powerOf = (factor: MathJson): number =>
    isFunction(factor) && factor[0] === "Power" ? Math.max(1, Number(integerOf(factor[2]!) ?? 1n)) : 1;
  return factors.reduce<number>((count, factor) => count + powerOf(factor), 0);
}

function visit(node: MathJson, found: Set<UnfinishedWork>): void {
  if (!isFunction(node)) return;
  const [operator, operands] = [node[0], node.slice(1)];
  if (sumOperators.has(operator)) visitSum(termsOf(node), found);
  else if (productOperators.has(operator)) visitProduct(factorsOf(node), found);
  else if (operator === "Divide") visitQuotient(operands[0]!, operands[1]!, found);
  else if (operator === "Negate" && (isNegated(operands[0]!) || operands[0] === 0)) found.add("idle parts");
  else if (calculated.has(operator) && operands.every((operand) => integerOf(operand) !== undefined))
    found.add("arithmetic");
  else if (operator === "Power") visitPower(operands[0]!, operands[1]!, found);
  if (operator === "Sqrt" || operator === "Root") visitRoot(operands[0]!, operands[1] ?? 2, found);
  for (const operand of operands) visit(operand, found);
}

function visitSum(terms: readonly MathJson[], found: Set<UnfinishedWork>): void {
  if (terms.some((term) => integerOf(term) === 0n)) found.add("idle parts");
  if (terms.filter(isNumeric).length > 1) found.add("arithmetic");
  const kinds = terms.filter((term) => !isNumeric(term)).map(kindOfTerm);
  if (new Set(kinds).size < kinds.length) found.add("like terms");
}

function visitProduct(factors: readonly MathJson[], found: Set<UnfinishedWork>): void {
  if (factors.some((factor) => integerOf(factor) === 0n || integerOf(factor) === 1n)) found.add("idle parts");
  if (factors.filter(isNumeric).length > 1) found.add("arithmetic");
  if (factors.filter(isRootOfNumber).length > 1) found.add("root");
  if (factors.filter(isSum).length > 1) found.add("product of sums");
  const bases = factors.filter((factor) => !isNumeric(factor)).map((factor) => JSON.stringify(baseOf(factor)));
  if (new Set(bases).size < bases.length) found.add("like terms");
}

function visitQuotient(top: MathJson, bottom: MathJson, found: Set<UnfinishedWork>): void {
  const divisor = integerOf(bottom);
  if (divisor === 1n || (divisor !== undefined && divisor < 0n)) found.add("idle parts");
  if (greatestCommonDivisor(contentOf(top), contentOf(bottom)) > 1n) found.add("fraction");
  if ([top, bottom].some((side) => parts(side).some((part) => isFunction(part) && part[0] === "Divide")))
    found.add("fraction");
  const below = new Set(
    factorsOf(bottom)
      .filter((factor) => !isNumeric(factor))
      .map((factor) => JSON.stringify(baseOf(factor))),
  );
  if (factorsOf(top).some((factor) => below.has(JSON.stringify(baseOf(factor))))) found.add("fraction");
  if (anywhere(bottom, isUnknown)) found.add("unknown divisor");
  if (anywhere(bottom, isRootOfNumber)) found.add("root divisor");
}

function visitPower(base: MathJson, exponent: MathJson, found: Set<UnfinishedWork>): void {
  const power = integerOf(exponent);
  if (power === 0n || power === 1n) found.add("idle parts");
  else if (power !== undefined && (isNumeric(base) || (isFunction(base) && base[0] === "Power")))
    found.add("arithmetic");
  else if (power !== undefined && isSum(base)) found.add("product of sums");
  if (isFunction(exponent) && exponent[0] === "Divide" && exponent[1] === 1) visitRoot(base, exponent[2]!, found);
}

function visitRoot(radicand: MathJson, index: MathJson, found: Set<UnfinishedWork>): void {
  const degree = Number(integerOf(index) ?? 0n);
  if (degree < 2) return;
  if (isFunction(radicand) && radicand[0] === "Divide") found.add("root");
  if (hasPowerFactor(contentOf(radicand), degree)) found.add("root");
  const isDrawn = (factor: MathJson): boolean =>
    isFunction(factor) && factor[0] === "Power" && Number(integerOf(factor[2]!) ?? 0n) >= degree;
  if (factorsOf(radicand).some(isDrawn)) found.add("root");
}

const sumOperators: ReadonlySet<string> = new Set(["Add", "Subtract"]);
const productOperators: ReadonlySet<string> = new Set(["Multiply", "InvisibleOperator"]);
const calculated: ReadonlySet<string> = new Set(["Factorial", "Abs", "Binomial", "Choose"]);
const constants: ReadonlySet<string> = new Set(["Pi", "e", "i", "ExponentialE", "ImaginaryUnit"]);

function isFunction(node: MathJson): node is MathOperation {
  return Array.isArray(node);
}

/** Removes the brackets around the parts of an expression. */
function unwrapped(node: MathJson): MathJson {
  if (!isFunction(node)) return node;
  const [operator, operands] = [node[0], node.slice(1)];
  if (operator === "Delimiter" && operands.length > 0) return unwrapped(operands[0]!);
  return [operator, ...operands.map(unwrapped)];
}

function termsOf(node: MathJson): readonly MathJson[] {
  if (!isFunction(node) || !sumOperators.has(node[0])) return [node];
  return node.slice(1).flatMap(termsOf);
}

/** Returns the factors of a product, without its sign. */
function factorsOf(node: MathJson): readonly MathJson[] {
  if (!isFunction(node)) return [node];
  if (node[0] !== "Negate" && !productOperators.has(node[0])) return [node];
  return node.slice(1).flatMap(factorsOf);
}

const parts = (node: MathJson): readonly MathJson[] => termsOf(node).flatMap(factorsOf);
const isUnknown = (node: MathJson): boolean => typeof node === "string" && !constants.has(node);
const isNegated = (node: MathJson): boolean => isFunction(node) && node[0] === "Negate";
const isSum = (node: MathJson): boolean => {
  const base = baseOf(node);
  return isFunction(base) && sumOperators.has(base[0]);
};

function baseOf(node: MathJson): MathJson {
  return isFunction(node) && node[0] === "Power" ? node[1]! : node;
}

/** Returns a term without its number: `x` for `2x`, `-x` and `\frac{x}{2}`. */
function kindOfTerm(term: MathJson): string {
  const isDivided = (node: MathJson): boolean => isFunction(node) && node[0] === "Divide" && isNumeric(node[2]!);
  const above = factorsOf(term).flatMap((factor) =>
    isDivided(factor) ? factorsOf((factor as MathOperation)[1]!) : [factor],
  );
  return above
    .filter((factor) => !isNumeric(factor))
    .map((factor) => JSON.stringify(factor))
    .sort()
    .join(" ");
}

/** True if the node is a single number: `3`, `-3`, `0.5`, `\frac{1}{2}`. */
function isNumeric(node: MathJson): boolean {
  if (!isFunction(node)) return typeof node !== "string";
  return (node[0] === "Negate" || node[0] === "Divide") && node.slice(1).every(isNumeric);
}

function isRootOfNumber(node: MathJson): boolean {
  return isFunction(node) && (node[0] === "Sqrt" || node[0] === "Root") && isNumeric(node[1]!);
}

function integerOf(node: MathJson): bigint | undefined {
  if (typeof node === "number") return Number.isSafeInteger(node) ? BigInt(node) : undefined;
  if (isFunction(node)) {
    const value = node[0] === "Negate" ? integerOf(node[1]!) : undefined;
    return value === undefined ? undefined : -value;
  }
  return typeof node === "object" && /^-?\d{1,400}$/.test(node.num) ? BigInt(node.num) : undefined;
}

/** Returns the greatest whole number that divides the number of each term: 2 for `4x + 6`. */
function contentOf(node: MathJson): bigint {
  const contents = termsOf(node).map((term) =>
    factorsOf(term).reduce((product, factor) => product * (integerOf(factor) ?? 1n), 1n),
  );
  return contents.map(absolute).reduce(greatestCommonDivisor, 0n);
}

/** The greatest root for which factors are searched. */
const greatestRoot = 1_000n;

function hasPowerFactor(value: bigint, degree: number): boolean {
  const size = absolute(value);
  if (size < 2n || degree > 64) return false;
  for (let root = 2n; root <= greatestRoot; root++) {
    const power = root ** BigInt(degree);
    if (power > size) return false;
    if (size % power === 0n) return true;
  }
  return false;
}

function anywhere(node: MathJson, test: (node: MathJson) => boolean): boolean {
  return test(node) || (isFunction(node) && node.slice(1).some((operand) => anywhere(operand, test)));
}
