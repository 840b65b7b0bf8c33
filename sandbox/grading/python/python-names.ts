import { type PythonToken, readLogicalLines } from "./python-tokens.ts";

/** Python's built-in functions and most common exceptions, which tests may call without an import. */
const builtins: ReadonlySet<string> = words(
  "abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip __import__ Exception ValueError TypeError KeyError IndexError ZeroDivisionError AssertionError RuntimeError StopIteration",
);

/** Python's other built-in names that begin with a capital letter. */
const builtinClasses = words(
  "ArithmeticError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError InterruptedError IsADirectoryError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeWarning StopAsyncIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning Warning",
);

/** Keywords that may precede a parenthesis. */
const keywords = words(
  "and assert await case del elif else except for from if in is lambda match not or raise return while with yield",
);

const standardModules = words(
  "bisect cmath collections copy datetime decimal fractions functools heapq itertools json math operator random re statistics string sys time types",
);

/** Classes of the standard library that tests may use without an import, because they rely on the candidate's. */
const standardClasses: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    collections: "ChainMap Counter OrderedDict",
    dataclasses: "FrozenInstanceError",
    decimal: "Decimal",
    enum: "Enum Flag IntEnum IntFlag",
    fractions: "Fraction",
    pathlib: "Path",
    typing: "Any Callable Dict FrozenSet Iterable Iterator List NamedTuple Optional Sequence Set Tuple Union",
  }).flatMap(([module, names]) => names.split(" ").map((name) => [name, module])),
);

/**
 * Returns the names that the sources call: those in `defined` if it is given, otherwise those that are neither defined
 * nor imported nor built-in.
 */
export function calledNames(sources: readonly string[], defined?: readonly string[]): string[] {
  const statements = sources.flatMap(simpleStatements);
  const bound = boundNames(statements);
  const called = statements.flatMap((tokens) =>
    tokens.filter(
      ({ kind, text }, i) =>
        kind === "name" &&
        (tokens[i + 1]?.text === "(" || tokens[i - 1]?.text === "@") &&
        tokens[i - 1]?.text !== "." &&
        !bound.has(text),
    ),
  );
  return unique(called).filter((name) => defined?.includes(name) ?? !(builtins.has(name) || keywords.has(name)));
}

/** Returns the functions and classes that a source defines, without nested ones. */
export function definedNames(source: string, kinds: readonly string[] = ["def", "class"]): string[] {
  return (readLogicalLines(source) ?? []).flatMap(({ indent, tokens }) => {
    const words = tokens.slice(0, 3).map(({ text }) => text);
    if (words[0] === "async") words.shift();
    return indent === 0 && kinds.includes(words[0]!) ? [words[1]!] : [];
  });
}

/** Returns the classes that a source defines by `class` or, as with `namedtuple`, by a call. Without nested ones. */
export function definedClasses(source: string): string[] {
  const made = (readLogicalLines(source) ?? []).flatMap(({ indent, tokens }) => {
    const [name, equals, ...call] = tokens.map(({ text }) => text);
    return indent === 0 && equals === "=" && call.some((word) => classMakers.has(word)) ? [name!] : [];
  });
  return [...definedNames(source, ["class"]), ...made];
}

/** True for a function that makes a class, such as `namedtuple`. */
export function isClassMaker(name: string): boolean {
  return classMakers.has(name);
}

/** True for a keyword that may precede a parenthesis, which then begins no arguments. */
export function isKeyword(name: string): boolean {
  return keywords.has(name);
}

/** True for a built-in function of Python. */
export function isBuiltin(name: string): boolean {
  return builtins.has(name);
}

const classMakers = words("namedtuple NamedTuple make_dataclass Enum IntEnum StrEnum Flag IntFlag NewType");

/**
 * Returns the names of classes that tests use and only the tested code can have: names with a capital letter that
 * nothing in the sources binds. By Python's convention, other names are functions or variables.
 */
export function usedClasses(sources: readonly string[]): string[] {
  const statements = sources.flatMap(simpleStatements);
  const bound = boundNames(statements);
  const used = statements.flatMap((tokens) =>
    tokens.filter(
      ({ kind, text }, i) =>
        kind === "name" &&
        /^[A-Z]/.test(text) &&
        tokens[i - 1]?.text !== "." &&
        !bound.has(text) &&
        !builtins.has(text) &&
        !builtinClasses.has(text) &&
        !Object.hasOwn(standardClasses, text),
    ),
  );
  return unique(used);
}

/** Returns imports of the standard library that the sources use but lack, because they rely on the candidate's. */
export function missingImports(sources: readonly string[]): string[] {
  const statements = sources.flatMap(simpleStatements);
  const bound = boundNames(statements);
  const used = statements.flatMap((tokens) =>
    tokens.filter(
      ({ text }, i) =>
        standardModules.has(text) && tokens[i + 1]?.text === "." && tokens[i - 1]?.text !== "." && !bound.has(text),
    ),
  );
  const classes = statements.flatMap((tokens) =>
    tokens.filter(
      ({ text }, i) => Object.hasOwn(standardClasses, text) && tokens[i - 1]?.text !== "." && !bound.has(text),
    ),
  );
  return [
    ...unique(used).map((name) => `import ${name}`),
    ...unique(classes).map((name) => `from ${standardClasses[name]} import ${name}`),
  ];
}

/** Returns logical lines, split at semicolons. Empty if the source cannot be parsed. */
function simpleStatements(source: string): readonly (readonly PythonToken[])[] {
  return (readLogicalLines(source) ?? []).flatMap(({ tokens }) => {
    const pieces: PythonToken[][] = [[]];
    for (const token of tokens) {
      if (token.text === ";") pieces.push([]);
      else pieces.at(-1)!.push(token);
    }
    return pieces;
  });
}

/** Returns the names that are assigned, looped over, defined or imported anywhere. */
function boundNames(statements: readonly (readonly PythonToken[])[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const tokens of statements) {
    const imports =
      tokens[0]?.text === "import" || tokens[0]?.text === "from" ? wordAt(tokens, "import") : tokens.length;
    for (const [i, { kind, text }] of tokens.entries()) {
      if (kind !== "name") continue;
      const before = tokens[i - 1]?.text ?? "";
      const isDefined = before === "def" || before === "class" || before === "for" || before === "as";
      const isImported = i > imports && before !== ".";
      if (isDefined || isImported || tokens[i + 1]?.text === "=") names.add(text);
    }
  }
  return names;
}

function wordAt(tokens: readonly PythonToken[], word: string): number {
  return tokens.findIndex(({ text }) => text === word);
}

function unique(tokens: readonly PythonToken[]): string[] {
  return [...new Set(tokens.map(({ text }) => text))];
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}
