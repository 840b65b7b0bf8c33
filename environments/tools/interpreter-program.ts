import { type Program, parse } from "acorn";
import type { InterpreterLanguage } from "./code-tasks.ts";

/**
 * The program that runs the cells of a session in order in one namespace: the output and errors of all but the last are
 * hidden, the last one's error ends the program, and the value of its last expression is printed.
 */
export function interpreterProgram(
  language: InterpreterLanguage,
  cells: readonly string[],
): { readonly files: Readonly<Record<string, string>>; readonly entry: string } {
  if (language === "python") return { files: { "main.py": pythonProgram(cells) }, entry: "main.py" };
  return { files: { "main.js": javascriptProgram(cells) }, entry: "main.js" };
}

function pythonProgram(cells: readonly string[]): string {
  return `import ast, io, sys
_names = {"__name__": "__main__"}

def _run(source, shown):
    tree = ast.parse(source, "<cell>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), _names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), _names)
        if shown and value is not None:
            print(repr(value))

def _session(cells):
    stdout, stderr = sys.stdout, sys.stderr
    for source in cells[:-1]:
        sys.stdout = sys.stderr = io.StringIO()
        try:
            _run(source, False)
        except BaseException:
            pass
        finally:
            sys.stdout, sys.stderr = stdout, stderr
    _run(cells[-1], True)

import json
_session(json.loads(${pythonText(JSON.stringify(cells))}))
`;
}

/** JSON as a Python literal: in plain ASCII first, since JSON's pairs of surrogates are no characters of Python's. */
function pythonText(json: string): string {
  const ascii = json.replace(/[\u007f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return JSON.stringify(ascii);
}

function javascriptProgram(cells: readonly string[]): string {
  return `const cells = ${JSON.stringify(cells.map(withGlobalNames))};
const shown = { ...console };
const hidden = () => {};
const run = globalThis.eval;
for (const cell of cells.slice(0, -1)) {
  for (const name of Object.keys(shown)) console[name] = hidden;
  try { run(cell); } catch {}
}
Object.assign(console, shown);
const value = run(cells.at(-1));
if (value !== undefined) console.log(value);
`;
}

/**
 * A cell whose names outlive it: what eval declares by `let`, `const` and `class` at the top is its own alone, what it
 * declares by `var` is everyone's. Code that does not parse stays as it is, and says so when it is run.
 */
function withGlobalNames(cell: string): string {
  let program: Program;
  try {
    program = parse(cell, { ecmaVersion: "latest" });
  } catch {
    return cell;
  }
  let text = cell;
  for (const node of program.body.toReversed()) {
    if (node.type === "VariableDeclaration" && (node.kind === "let" || node.kind === "const")) {
      text = `${text.slice(0, node.start)}var${text.slice(node.start + node.kind.length)}`;
    } else if (node.type === "ClassDeclaration") {
      text = `${text.slice(0, node.start)}var ${node.id.name} = ${text.slice(node.start, node.end)};${text.slice(node.end)}`;
    }
  }
  return text;
}
