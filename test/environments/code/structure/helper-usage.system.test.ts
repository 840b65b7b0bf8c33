import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PairStructure, pairStructure } from "../../../../environments/code/structure/pair-structure.ts";
import { deduplicated } from "../../../../sandbox/grading/deduplicated.ts";
import { createIsolatedVmSandbox } from "../../../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { createPyodideSandbox } from "../../../../sandbox/pyodide/create-pyodide-sandbox.ts";
import type { Sandbox } from "../../../../sandbox/sandbox.ts";

const types = createIsolatedVmSandbox({ workers: 1 });
let python: Sandbox;
beforeAll(async () => {
  python = deduplicated(await createPyodideSandbox({ workers: 1 }));
});
afterAll(async () => {
  await types[Symbol.asyncDispose]();
  await python?.[Symbol.asyncDispose]();
});

async function structure(language: "python" | "javascript" | "typescript", main: string, aux?: string) {
  const helper = aux ?? (language === "python" ? "def aux(x):\n    return x" : "function aux(x) { return x; }");
  const sandbox = language === "python" ? python : types;
  const judged = await pairStructure({ sandbox, language, aux: helper, main, entryPoint: "main" });
  if ("error" in judged) throw new Error(judged.error.message);
  return judged;
}

type Usage = "none" | "ignored" | "used" | "wrapper";

function usageOf({ called, used, wrapper }: PairStructure): Usage {
  if (!called) return "none";
  if (!used) return "ignored";
  return wrapper ? "wrapper" : "used";
}

const def = (...lines: string[]): string => `def main(n):\n${lines.map((line) => `    ${line}`).join("\n")}`;

describe("Python: main's use of aux is", () => {
  it.each<[Usage, string, string]>([
    // Not called.
    ["none", "no mention", def("return n")],
    ["none", "a string", def("return 'aux(n)'")],
    ["none", "a comment", def("# aux(n)", "return n")],
    ["none", "a docstring", def('"""aux(n)"""', "return n")],
    ["none", "an f-string's text", def("return f'aux(n) {n}'")],
    ["none", "an attribute of that name", def("return n.aux(n)")],
    ["none", "another name that ends in it", def("return my_aux(n)")],
    ["none", "a parameter of that name", "def main(aux):\n    return aux(1)"],
    ["none", "a local of that name", def("aux = abs", "return aux(n)")],
    ["none", "a nested function of that name", def("def aux(x): return x", "return aux(n)")],
    ["none", "main's own aux", `def aux(x):\n    return x\n${def("return aux(n)")}`],
    ["none", "main's own aux, after it", `${def("return aux(n)")}\naux = abs`],
    ["none", "an import of that name", `from math import floor as aux\n${def("return aux(n) + 1")}`],
    ["none", "a class of that name", `class aux: pass\n${def("return aux(n)")}`],
    ["none", "replaced through global", def("global aux", "aux = abs", "return aux(n)")],
    [
      "none",
      "replaced through global elsewhere",
      `def f():\n    global aux\n    aux = abs\nf()\n${def("return aux(n) + 1")}`,
    ],
    ["none", "a comprehension's own name", def("return [aux(1) for aux in n]")],
    ["none", "a lambda's own parameter", def("return (lambda aux: aux(n))(abs)")],
    ["none", "a loop's name", def("for aux in n: return aux(1)")],
    ["none", "dead after return", def("return n", "return aux(n)")],
    ["none", "dead after raise", def("raise ValueError", "return aux(n)")],
    ["none", "dead after both branches", def("if n:", "    return 1", "else:", "    return 2", "return aux(n)")],
    ["none", "if False", def("if False:", "    return aux(n)", "return n")],
    ["none", "if 0", def("if 0: return aux(n)", "return n")],
    ["none", "if not True", def("if not True: return aux(n)", "return n")],
    ["none", "while False", def("while False: return aux(n)", "return n")],
    ["none", "the other arm of an expression", def("return n if True else aux(n)")],
    ["none", "a short circuit", def("return n or False and aux(n)")],
    ["none", "after an endless loop", def("while True:", "    n += 1", "return aux(n)")],
    ["none", "in a nested function that nobody calls", def("def f(): return aux(n)", "return n")],
    ["none", "in a lambda that nobody calls", def("f = lambda: aux(n)", "return n")],
    ["none", "in another function that nobody calls", `def f(n): return aux(n)\n${def("return n")}`],
    [
      "none",
      "in functions that call each other alone",
      `def f(n): return g(n)\ndef g(n): return aux(f(n))\n${def("return n")}`,
    ],
    ["none", "a mention in a condition", def("return 1 if aux else n")],
    ["none", "a look at it", def("return callable(aux)")],
    ["none", "recursion alone", def("return main(n - 1) if n else 0")],
    ["none", "a module's own call that nothing reads", `table = [1]\n${def("return n")}\nif False: aux(1)`],
    // Called, and the result is discarded.
    ["ignored", "a bare call", def("aux(n)", "return n")],
    ["ignored", "bound to _", def("_ = aux(n)", "return n")],
    ["ignored", "bound and never read", def("x = aux(n)", "return n")],
    ["ignored", "bound, read by what is never read", def("x = aux(n)", "y = x + 1", "z = [y]", "return n")],
    ["ignored", "bound again before it is read", def("x = aux(n)", "x = n", "return x")],
    ["ignored", "read in dead code alone", def("x = aux(n)", "return n", "return x")],
    ["ignored", "read in an empty branch", def("x = aux(n)", "if x: pass", "return n")],
    ["ignored", "a condition without effect", def("if aux(n): pass", "return n")],
    ["ignored", "a loop without effect", def("for _ in aux(n): pass", "return n")],
    ["ignored", "an expression without effect", def("aux(n) + 1", "return n")],
    ["ignored", "a tuple without effect", def("(aux(n), n)", "return n")],
    ["ignored", "printed", def("print(aux(n))", "return n")],
    ["ignored", "measured for nothing", def("len(str(aux(n)))", "return n")],
    ["ignored", "counted up for nothing", def("s = 0", "for i in range(n): s += aux(i)", "return n")],
    ["ignored", "handed to itself for nothing", def("aux(aux(n))", "return n")],
    ["ignored", "by a helper whose result is dropped", `def f(n): return aux(n)\n${def("f(n)", "return n")}`],
    ["ignored", "in a helper that drops it", `def f(n):\n    aux(n)\n    return n\n${def("return f(n)")}`],
    ["ignored", "a walrus that nobody reads", def("(x := aux(n))", "return n")],
    ["ignored", "swallowed in a try", def("try: aux(n)", "except Exception: pass", "return n")],
    ["ignored", "handed to a function whose result is dropped", def("sorted(n, key=aux)", "return n")],
    ["ignored", "a deleted name", def("x = aux(n)", "del x", "return n")],
    // Used.
    ["used", "part of an expression", def("return aux(n) + 1")],
    ["used", "through a variable", def("x = aux(n)", "return x + 1")],
    ["used", "through several", def("x = aux(n)", "y = x * 2", "z = [y]", "return z")],
    ["used", "in a condition", def("if aux(n): return 1", "return 2")],
    ["used", "in a conditional expression", def("return 1 if aux(n) else 2")],
    ["used", "in a loop's head", def("s = 0", "for x in aux(n): s += x", "return s")],
    ["used", "in a while", def("while aux(n): n -= 1", "return n")],
    ["used", "in a loop's body", def("s = 0", "for i in range(n): s += aux(i)", "return s")],
    [
      "used",
      "carried round a loop",
      def("a, b = 0, 0", "for i in range(n):", "    b = a", "    a = aux(i)", "return b"),
    ],
    ["used", "in a comprehension", def("return [aux(x) for x in n]")],
    ["used", "in a comprehension's condition", def("return [x for x in n if aux(x)]")],
    ["used", "as a key", def("return sorted(n, key=aux)")],
    ["used", "mapped", def("return list(map(aux, n))")],
    ["used", "in a lambda that is handed on", def("return sorted(n, key=lambda x: -aux(x))")],
    ["used", "under another name", def("f = aux", "return f(n) + 1")],
    ["used", "in a nested function that is called", def("def f(x): return aux(x) + 1", "return f(n)")],
    [
      "used",
      "in a nested function defined before what it calls",
      def("def f(x): return g(x)", "def g(x): return aux(x) + 1", "return f(n)"),
    ],
    ["used", "in a helper of main", `def f(n): return aux(n) * 2\n${def("return f(n)")}`],
    ["used", "in a helper defined after main", `${def("return f(n)")}\ndef f(n): return aux(n) * 2`],
    ["used", "through a method of a class", `class C:\n    def m(self, n): return aux(n)\n${def("return C().m(n)")}`],
    ["used", "through the module", `table = aux(100)\n${def("return table[n]")}`],
    ["used", "through a default", "def main(n, x=aux(3)):\n    return n + x"],
    ["used", "added to a list that is returned", def("xs = []", "xs.append(aux(n))", "return xs")],
    ["used", "put into a dict that is returned", def("d = {}", "for i in range(n): d[i] = aux(i)", "return d")],
    ["used", "put into a part of what is returned", def("g = [[0]]", "row = g[0]", "row[0] = aux(n)", "return g")],
    ["used", "written into an argument", "def main(xs):\n    xs[:] = aux(xs)"],
    ["used", "unpacked", def("a, *b = aux(n)", "return b")],
    ["used", "raised", def("raise ValueError(aux(n))")],
    ["used", "yielded", def("yield aux(n)")],
    ["used", "asserted", def("assert aux(n)", "return n")],
    [
      "used",
      "in try, with another way out",
      def("try:", "    x = aux(n)", "except ValueError:", "    x = 0", "return x"),
    ],
    [
      "used",
      "kept in try for the way out",
      def("try:", "    x = aux(n)", "    check(n)", "except ValueError:", "    return x", "return n"),
    ],
    [
      "used",
      "by a function that is called for its result, and once without",
      def("def f():", "    return aux(n)", "y = f()", "f()", "return y + 1"),
    ],
    ["used", "kept although a branch may replace it", def("x = aux(n)", "if n: x = 1", "return x")],
    ["used", "after a guard", def("if n == 0: return 0", "return aux(n)")],
    ["used", "by match", def("match aux(n):", "    case 1: return 2", "    case _: return 3")],
    ["used", "in a walrus", def("if (x := aux(n)) > 1: return x", "return 0")],
    ["used", "with recursion", def("return aux(n) if n < 2 else main(n - 1)")],
    ["used", "the result of one handed to another function", def("return abs(aux(n))")],
    ["used", "on arguments that main works out", def("return aux([x + len(str(x)) for x in n])")],
    // Passed on.
    ["wrapper", "returned as it is", def("return aux(n)")],
    ["wrapper", "below a docstring", def('"""Doc."""', "return aux(n)")],
    ["wrapper", "through a variable", def("x = aux(n)", "return x")],
    ["wrapper", "through two", def("x = aux(n)", "y = x", "return y")],
    ["wrapper", "next to code without effect", def("z = n + 1", "x = aux(n)", "if z: pass", "return x")],
    ["wrapper", "with arguments put otherwise", def("return aux(n, 1, [n], k=n[0])")],
    ["wrapper", "on both ways", def("if n: return aux(n)", "else: return aux(n)")],
    ["wrapper", "by a helper", `def f(n): return aux(n)\n${def("return f(n)")}`],
    ["wrapper", "under another name", def("f = aux", "return f(n)")],
    ["wrapper", "a lambda", "main = lambda n: aux(n)"],
    ["wrapper", "beside a variable that is never used", def("x = n", "return aux(n)")],
    ["wrapper", "with dead code after", def("return aux(n)", "return n + 1")],
  ])("%s: %s", async (wanted, _, source) => {
    expect(usageOf(await structure("python", source))).toBe(wanted);
  });
});

const fn = (...lines: string[]): string => `function main(n) {\n${lines.join("\n")}\n}`;

describe("JavaScript: main's use of aux is", () => {
  it.each<[Usage, string, string]>([
    ["none", "a string", fn('return "aux(n)";')],
    ["none", "a comment", fn("// aux(n)", "return n;")],
    ["none", "a template's text", fn("return `aux(n)` + n;")],
    ["none", "a local of that name", fn("const aux = Math.abs;", "return aux(n);")],
    ["none", "main's own aux", `const aux = (x) => x;\n${fn("return aux(n) + 1;")}`],
    ["none", "a parameter of that name", "function main(aux) { return aux(1) + 1; }"],
    ["none", "dead after return", fn("return n;", "return aux(n);")],
    ["none", "if (false)", fn("if (false) { return aux(n); }", "return n;")],
    ["none", "while (0)", fn("while (0) return aux(n);", "return n;")],
    ["none", "a short circuit", fn("return false && aux(n);")],
    ["none", "after an endless loop", fn("for (;;) { n++; }", "return aux(n);")],
    ["none", "in a function that nobody calls", fn("const f = () => aux(n);", "return n;")],
    ["none", "typeof", fn("return typeof aux;")],
    ["ignored", "a bare call", fn("aux(n);", "return n;")],
    ["ignored", "void", fn("void aux(n);", "return n;")],
    ["ignored", "bound and never read", fn("const x = aux(n);", "return n;")],
    ["ignored", "bound again", fn("let x = aux(n);", "x = n;", "return x;")],
    ["ignored", "a callback whose results are dropped", fn("n.map(aux);", "return n;")],
    ["ignored", "logged", fn("console.log(aux(n));", "return n;")],
    ["ignored", "called immediately", fn("(() => aux(n))();", "return n;")],
    ["ignored", "a condition without effect", fn("if (aux(n)) {}", "return n;")],
    ["used", "part of an expression", fn("return aux(n) + 1;")],
    ["used", "as a callback", fn("return n.map(aux);")],
    ["used", "in a callback", fn("return n.map((x) => aux(x));")],
    ["used", "in forEach", fn("const xs = [];", "n.forEach((x) => { xs.push(aux(x)); });", "return xs;")],
    ["used", "in a loop", fn("let s = 0;", "for (let i = 0; i < n; i++) s += aux(i);", "return s;")],
    ["used", "in for of", fn("const xs = [];", "for (const x of aux(n)) xs.push(x);", "return xs;")],
    ["used", "in a switch", fn("switch (aux(n)) { case 1: return 2; default: return 3; }")],
    ["used", "spread", fn("return [...aux(n)];")],
    ["used", "destructured", fn("const { a, ...b } = aux(n);", "return b;")],
    ["used", "an arrow function", "const main = (n) => aux(n) + 1;"],
    ["used", "in an assignment within an expression", fn("let x;", "if ((x = aux(n)) > 1) return x;", "return 0;")],
    ["used", "in optional chaining", fn("return aux(n)?.length ?? 0;")],
    ["used", "through a hoisted function", fn("return f(n);", "function f(x) { return aux(x) + 1; }")],
    ["used", "in a guarded call", fn("const xs = [];", "n && xs.push(aux(n));", "return xs;")],
    ["wrapper", "returned as it is", fn("return aux(n);")],
    ["wrapper", "an arrow function", "const main = (n) => aux(n);"],
    ["wrapper", "through a variable that is declared before", fn("let x;", "x = aux(n);", "return x;")],
    ["wrapper", "through a variable", fn("const x = aux(n);", "return x;")],
  ])("%s: %s", async (wanted, _, source) => {
    expect(usageOf(await structure("javascript", source))).toBe(wanted);
  });

  it("TypeScript, too", async () => {
    const used = "const main = (n: number): number => { const x: number = aux(n) as number; return x + 1; };";
    expect(usageOf(await structure("typescript", used))).toBe("used");
    const enumerated = "enum E { A = 1 }\nfunction main(n: number): number { return aux(n) + E.A; }";
    expect(usageOf(await structure("typescript", enumerated))).toBe("used");
  });
});

describe("the reason why a result is ignored", () => {
  const unused = "is assigned to a name that is never used";
  const replaced = "is assigned to a name that is assigned again before it is used";
  it.each<["python" | "javascript", string, string | undefined]>([
    ["python", def("aux(n)", "return n"), "stands alone"],
    ["python", def("print(aux(n))", "return n"), "stands alone"],
    ["python", def("if aux(n): pass", "return n"), "stands alone"],
    ["python", def("x = aux(n)", "return n"), unused],
    ["python", def("x: int = aux(n)", "return n"), unused],
    ["python", def("x = y = aux(n)", "return n"), unused],
    ["python", def("s = 0", "s += aux(n)", "return n"), unused],
    ["python", def("x = aux(n)", "x = n", "return x"), replaced],
    ["python", def("x = aux(n)", "z = 1", "x = z", "return x"), replaced],
    ["python", def("x = aux(n)", "x = x + 1", "return x"), undefined],
    ["python", def("x = aux(n)", "if n: x = 1", "return x"), undefined],
    ["python", `total = 0\n${def("global total", "total = aux(n)", "return n")}`, undefined],
    ["python", `def f(x): return x\n${def("x = aux(n)", "return f(n)")}`, unused],
    ["javascript", fn("aux(n);", "return n;"), "stands alone"],
    ["javascript", fn("const x = aux(n);", "return n;"), unused],
    ["javascript", fn("let x = aux(n);", "x = n;", "return x;"), replaced],
    ["javascript", fn("let x; x = aux(n);", "x = n;", "return x;"), replaced],
    ["javascript", fn("const [a] = aux(n);", "return n;"), unused],
    ["javascript", fn("let s = 0;", "for (const x of aux(n)) s += x;", "return s;"), undefined],
  ])("%s: %s", async (language, main, ignored) => {
    const judged = await structure(language, main);
    expect({ called: judged.called, used: judged.used, ignored: judged.ignored }).toEqual({
      called: true,
      used: ignored === undefined,
      ignored,
    });
  });
});

describe("what each agent defines", () => {
  const sources: readonly (readonly [
    "python" | "javascript" | "typescript",
    string,
    Partial<PairStructure["main"]>,
  ])[] = [
    ["python", def("return n"), { defined: true, returns: true }],
    ["python", def("print(n)"), { defined: true, returns: false }],
    ["python", def("return"), { defined: true, returns: false }],
    ["python", def("def f(): return 1"), { defined: true, returns: false }],
    ["python", "def main(): return 1", { defined: true, returns: true }],
    ["python", "main = lambda: 1", { defined: true, returns: true }],
    ["python", "async def main(): return 1", { defined: true, returns: true }],
    ["python", def("yield n"), { defined: true, returns: true }],
    ["python", "# def main(n): return n", { defined: false }],
    ["python", "'def main(n): return n'", { defined: false }],
    ["python", "def f():\n    def main(n): return n", { defined: false }],
    ["python", "", { defined: false }],
    ["python", "def main(n:\n    return n", { defined: false, problem: expect.stringMatching(/line 1, column \d/) }],
    ["python", "x = 'a\0'", { defined: false, problem: expect.stringContaining("null") }],
    ["python", `x = ${"-".repeat(50_000)}1`, { defined: false, problem: expect.any(String) }],
    ["python", `x = ${"(".repeat(90)}${")".repeat(90)}`, { defined: false }],
    ["javascript", fn("return n;"), { defined: true, returns: true }],
    ["javascript", "const main = () => 1;", { defined: true, returns: true }],
    ["javascript", "let main; main = function () { return; };", { defined: true, returns: false }],
    ["javascript", "function main(n) {", { defined: false, problem: expect.stringMatching(/line 1, column \d+/) }],
    ["javascript", `x = ${"[".repeat(100_000)}`, { defined: false, problem: expect.any(String) }],
    ["typescript", "function main(n: number): number { return n; }", { defined: true, returns: true }],
    ["typescript", "function main(n: number", { defined: false, problem: expect.any(String) }],
    ["typescript", `x = ${"(".repeat(50_000)}`, { defined: false, problem: expect.any(String) }],
    // The earlier code has not broken the type stripping.
    ["typescript", "const main = (n: number): number => n + 1;", { defined: true, returns: true }],
  ];
  // Some cases are slow.
  const named = sources.map(([language, source, wanted]) => [language, source.slice(0, 60), source, wanted] as const);
  it.each(named)("%s: %s", async (language, _, source, wanted) => {
    expect((await structure(language, source)).main).toMatchObject(wanted);
  });

  it("never runs the code", async () => {
    const judged = await structure(
      "python",
      "raise SystemExit\nwhile True: pass",
      "import os\nos._exit(1)\ndef aux(): return 1",
    );
    expect(judged).toMatchObject({ aux: { defined: true }, main: { defined: false }, called: false });
    expect(judged.main.problem).toBeUndefined();
  });
});
