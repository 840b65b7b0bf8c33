import { type PythonStatement, readPythonStatements } from "../../sandbox/grading/python/python-statements.ts";

/** A method of a class. */
export interface ClassMethod {
  /** The method's name. For an accessor of a property, with its kind, such as `size.setter`. */
  readonly name: string;
  /** The source code with decorators, without indentation. */
  readonly text: string;
  /** True if the body is only a docstring, `pass`, `...` or `raise NotImplementedError`. */
  readonly isEmpty: boolean;
  /** The number of parameters, including `self`. */
  readonly parameters: number;
}

/** Returns the methods of a class in source code, in order, or undefined if there is no such class. */
export function classMethods(source: string, className: string): readonly ClassMethod[] | undefined {
  const found = readPythonStatements(source)?.find(
    ({ tokens }) => tokens[0]!.text === "class" && tokens[1]?.text === className,
  );
  return found?.body.flatMap((statement) => methodOf(statement) ?? []);
}

function methodOf(statement: PythonStatement): ClassMethod | undefined {
  const words = statement.allTokens.map(({ text }) => text);
  const def = words.indexOf("def");
  if (def === -1 || !["def", "async", "@"].includes(words[0]!)) return undefined;
  const name = words[def + 1]!;
  const accessor = words
    .slice(0, def)
    .join(" ")
    .match(/@ \w+ \. (setter|deleter|getter)/)?.[1];
  return {
    name: accessor === undefined ? name : `${name}.${accessor}`,
    text: statement.text,
    isEmpty: isEmpty(statement, words),
    parameters: parametersOf(words.slice(def + 2)),
  };
}

function isEmpty({ body }: PythonStatement, words: readonly string[]): boolean {
  if (body.length === 0) return ["pass", "..."].includes(words.at(-1)!);
  return body.every(({ allTokens: [first, second], allTokens }) => {
    if (first!.text === "pass" || first!.text === "...") return true;
    if (first!.text === "raise") return second?.text === "NotImplementedError";
    return allTokens.every(({ kind }) => kind === "string");
  });
}

/** Counts the comma-separated parts between the brackets that begin here. */
function parametersOf(words: readonly string[]): number {
  let depth = 0;
  let count = 0;
  let fresh = true;
  for (const word of words) {
    if (["(", "[", "{"].includes(word)) depth++;
    else if ([")", "]", "}"].includes(word)) depth--;
    else if (depth === 1 && word === ",") fresh = true;
    else if (depth === 1 && fresh) {
      count++;
      fresh = false;
    }
    if (depth === 0) return count;
  }
  return count;
}
