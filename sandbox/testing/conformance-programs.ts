import type { Language } from "../execution.ts";

/** Programs with the same behaviour in each language. The names describe the behaviour. */
export interface ConformancePrograms {
  /** `f(x)` returns twice x, a number or a string. */
  readonly double: string;
  /** `f(x)` raises an error of class `raisedType` that says "no", on line 2, for x = 0, and returns x otherwise. */
  readonly raise: string;
  readonly raisedType: string;
  readonly syntaxError: string;
  /** Raises while it is loaded. */
  readonly raiseAtLoad: string;
  /** `f()` returns itself. */
  readonly unsupported: string;
  /** `f()` never returns. */
  readonly spin: string;
  /** `f()` allocates memory until none is left. */
  readonly fill: string;
  /** `f()` prints 200,000 times x and returns true. */
  readonly flood: string;
  /** `f()` returns a string of 3,000,000 characters. */
  readonly huge: string;
  /** `f()` returns a list nested 100,000 times. */
  readonly deep: string;
  /** `f()` returns how often it was called in this process. */
  readonly count: string;
  /** `f()` changes everything that it can reach: builtins, modules, prototypes. */
  readonly pollute: string;
  /** `f()` returns true if it finds nothing changed. */
  readonly isClean: string;
  /** `f()` returns three random numbers. */
  readonly random: string;
  /** A program that prints its input in reverse. */
  readonly reverse: string;
  /** Prints something and then fails. */
  readonly failingScript: string;
  /** `f(x)` returns an object that claims to be equal to everything. */
  readonly alwaysEqual: string;
  /** A class `Counter` with `add(n)`, which returns itself, and an attribute `total`. */
  readonly counter: string;
  readonly judge: {
    /** Tests of `f`, which doubles. They pass, fail, and fail because `f` raises. */
    readonly setup: string;
    readonly passes: string;
    readonly fails: string;
    /** Tests of `Counter`. */
    readonly ofCounter: string;
  };
}

const python: ConformancePrograms = {
  double: "def f(x):\n    return 2 * x",
  raise: "def f(x):\n    if x == 0: raise ValueError('no')\n    return x",
  raisedType: "ValueError",
  syntaxError: "def f(:\n  pass",
  raiseAtLoad: "def f(): pass\n1 / 0",
  unsupported: "def f():\n    return f",
  spin: "def f():\n    while True: pass",
  fill: "def f():\n    kept = []\n    while True: kept.append(bytearray(10 ** 6))",
  flood: "def f():\n    print('x' * 200_000)\n    return True",
  huge: "def f():\n    return 'x' * 3_000_000",
  deep: "def f():\n    deep = []\n    for _ in range(100_000): deep = [deep]\n    return deep",
  count: "n = 0\ndef f():\n    global n\n    n += 1\n    return n",
  pollute: [
    "import builtins, json, math, sys",
    "def f():",
    "    builtins.leak = json.leak = sys.leak = 1",
    "    math.sqrt = lambda x: 0",
    "    builtins.len = lambda x: 0",
    "    sys.modules['leak'] = math",
    "    return True",
  ].join("\n"),
  isClean: [
    "import builtins, json, math, sys",
    "def f():",
    "    leaks = [hasattr(m, 'leak') for m in (builtins, json, sys)] + ['leak' in sys.modules]",
    "    return not any(leaks) and math.sqrt(4) == 2 and len('ab') == 2",
  ].join("\n"),
  random: "import random\ndef f():\n    return [random.random() for _ in range(3)]",
  reverse: "print(input()[::-1])",
  failingScript: "print('here')\nassert False, 'why'",
  alwaysEqual: [
    "class Any:",
    "    def __eq__(self, other): return True",
    "    def __ne__(self, other): return False",
    "def f(x):",
    "    return Any()",
  ].join("\n"),
  counter: [
    "class Counter:",
    "    def __init__(self, total):",
    "        self.total = total",
    "    def add(self, n):",
    "        self.total += n",
    "        return self",
  ].join("\n"),
  judge: {
    setup: "import math\nfour = f(2)",
    passes: "for i in range(3):\n    assert f(i) == 2 * i\nassert math.sqrt(four) == 2",
    fails: "assert f(1) == 3",
    ofCounter: "c = Counter(1)\nassert c.add(2).add(3).total == 6\nassert c.total == 6",
  },
};

const javascript: ConformancePrograms = {
  double: "function f(x) { return x + x; }",
  raise: "function f(x) {\n  if (x === 0) throw new TypeError('no');\n  return x;\n}",
  raisedType: "TypeError",
  syntaxError: "function f( {",
  raiseAtLoad: "function f() {}\nnull.x;",
  unsupported: "function f() { return f; }",
  spin: "function f() { for (;;); }",
  fill: "function f() { const kept = []; for (;;) kept.push(new Array(1e5).fill(kept.length)); }",
  flood: "function f() { console.log('x'.repeat(200000)); return true; }",
  huge: "function f() { return 'x'.repeat(3000000); }",
  deep: "function f() { let deep = []; for (let i = 0; i < 1e5; i++) deep = [deep]; return deep; }",
  count: "let n = 0;\nfunction f() { return ++n; }",
  pollute: [
    "function f() {",
    "  globalThis.leak = Math.leak = Object.prototype.leak = 1;",
    "  Array.prototype.map = () => 'leak';",
    "  JSON.stringify = () => '1';",
    "  return true;",
    "}",
  ].join("\n"),
  isClean: [
    "function f() {",
    "  return !('leak' in globalThis) && !('leak' in Math) && !('leak' in {})",
    "    && [1].map((x) => x + 1)[0] === 2 && JSON.stringify([2]) === '[2]';",
    "}",
  ].join("\n"),
  random: "function f() { return [Math.random(), Math.random(), Math.random()]; }",
  reverse: [
    "const text = require('node:fs').readFileSync('/dev/stdin', 'utf8').trim();",
    "console.log([...text].reverse().join(''));",
  ].join("\n"),
  failingScript: "console.log('here');\nthrow new Error('why');",
  alwaysEqual: "function f(x) { return { valueOf: () => 2, toJSON: () => 2, [Symbol.toPrimitive]: () => 2 }; }",
  counter: [
    "class Counter {",
    "  constructor(total) { this.total = total; }",
    "  add(n) { this.total += n; return this; }",
    "}",
  ].join("\n"),
  judge: {
    setup: "const equal = (a, b) => { if (a !== b) throw new Error(a + ' is not ' + b); };\nconst four = f(2);",
    passes: "for (let i = 0; i < 3; i++) equal(f(i), 2 * i);\nequal(four, 4);",
    fails: "equal(f(1), 3);",
    ofCounter: "const c = new Counter(1);\nif (c.add(2).add(3).total !== 6 || c.total !== 6) throw new Error('wrong');",
  },
};

const typescript: ConformancePrograms = {
  ...javascript,
  double: "type Input = number | string;\nfunction f(x: any): Input { return (x + x) as Input; }",
  count: "let n: number = 0;\nfunction f(): number { return ++n; }",
};

/** The programs of each language. */
export const conformancePrograms: Readonly<Record<Language, ConformancePrograms>> = { python, javascript, typescript };
