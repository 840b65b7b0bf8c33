import { loadPyodide } from "pyodide";

/** CPython as a reference for text that we wrote ourselves: Pyodide in this process. */
export interface PythonOracle {
  /** Returns the result of `answer`, a function of `program`, for a question. Both are JSON. */
  ask<Answer>(program: string, question: unknown): Answer;
}

/** Starts one. Its programs may use `encode(value)` and `decode(tree)`, from and to the trees of plain values. */
export async function startPythonOracle(): Promise<PythonOracle> {
  const python = await loadPyodide();
  python.runPython(codec);
  return {
    ask: (program, question) => {
      python.globals.set("question", JSON.stringify(question));
      return JSON.parse(python.runPython(`${program}\njson.dumps(answer(json.loads(question)))`) as string);
    },
  };
}

/** Written separately from the sandboxes' codec, so that the two can be compared. */
const codec = `
import base64, json

def encode(value):
    kind = type(value)
    if kind in (type(None), bool, str):
        return value
    if kind in (int, float):
        return {kind.__name__: repr(value)}
    if kind is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if kind in (list, tuple, set, frozenset):
        return {kind.__name__: [encode(item) for item in value]}
    if kind is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    raise TypeError("no plain value: " + kind.__name__)

def decode(tree):
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind in ("int", "float"):
        return {"int": int, "float": float}[kind](content)
    if kind == "complex":
        return complex(*map(float, content))
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "dict":
        return {decode(key): decode(item) for key, item in content}
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](decode(item) for item in content)
`;
