import { readFile } from "node:fs/promises";
import { loadPyodide } from "pyodide";

/** CPython, to ask what it makes of expressions: Pyodide in this process, for text that we wrote ourselves. */
export interface PythonOracle {
  /** What a function of one JSON text to a JSON text, defined by `program` as `answer`, gives. */
  ask<Answer>(program: string, question: unknown): Answer;
}

/** Starts one; `plain_value.encode` and `plain_value.decode` of the sandboxes can be imported in it. */
export async function startPythonOracle(): Promise<PythonOracle> {
  const python = await loadPyodide();
  const codec = await readFile(new URL("../../sandbox/python/plain_value.py", import.meta.url), "utf8");
  python.FS.writeFile("/home/pyodide/plain_value.py", codec);
  return {
    ask: (program, question) => {
      python.globals.set("question", JSON.stringify(question));
      return JSON.parse(
        python.runPython(`${program}\nimport json\njson.dumps(answer(json.loads(question)))`) as string,
      );
    },
  };
}
