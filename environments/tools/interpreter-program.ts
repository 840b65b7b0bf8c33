import { type Program, parse } from "acorn";
import type { InterpreterLanguage } from "./code-tasks.ts";

/**
 * Returns a program that runs the cells of a session in order in one namespace. Hides the output and the errors of all
 * cells but the last. An error in the last cell ends the program. Otherwise, prints the value of its last expression.
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

/** Returns JSON as a Python literal. Escapes it to ASCII first, because Python has no surrogate pairs. */
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
 * Returns a cell whose names stay defined after it. With eval, top-level `let`, `const` and `class` are local to the
 * cell, but `var` is global. Code that does not parse is unchanged, so that running it reports the error.
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
