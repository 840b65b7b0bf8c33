/** Strings and comments. Strings of one line and comments of one line come first, so that their quotes open nothing. */
const texts =
  /"""[\s\S]*?(?:"""|$(?![\s\S]))|'''[\s\S]*?(?:'''|$(?![\s\S]))|"(?:[^"\\\n]|\\.)*(?:"|\\?$)|'(?:[^'\\\n]|\\.)*(?:'|\\?$)|\/\*[\s\S]*?(?:\*\/|$(?![\s\S]))|#.*|\/\/.*/gm;

/** Returns code without the text of strings and comments of several lines, which may look like definitions. */
export function withoutLongTexts(code: string): string {
  return code.replace(texts, (text) => {
    const marks = /^(?:"""|'''|\/\*)/.exec(text)?.[0];
    if (marks === undefined) return text;
    return marks + text.replace(/\S/g, "") + (marks === "/*" ? "*/" : marks);
  });
}

/** What a body without an implementation consists of, in Python. */
const emptyBody = /^(?:\s|;|\.\.\.|pass\b|raise NotImplementedError\b(?:\([^)]*\))?)*$/;
/** The end of a function without an implementation, in JavaScript: an empty body, or a signature of TypeScript. */
const emptyFunction =
  /\{(?:\s|;|\.\.\.|throw new Error\((["'`])(?:not implemented|todo)[^)]*\)|\/\*\s*\*\/)*\}[\s;,]*$/i;
const signature = /^(?:export\s+)?(?:declare\s+)?(?:async\s+)?function\b[^{]*;?\s*$/;

/**
 * Returns true if the last definition that a pattern finds in code has no implementation: `def f(x): ...`, a docstring
 * alone, `function f(x) {}`. `code` is without long texts. With `isOuter`, definitions inside of others do not count.
 */
export function isStub(code: string, pattern: RegExp, isOuter: boolean): boolean {
  const found = Array.from(code.matchAll(new RegExp(pattern, "gm")), ({ index }) => index);
  const start = found.findLast((index) => !isOuter || /\S/.test(code[index] ?? ""));
  if (start === undefined) return false;
  const [first = "", ...rest] = code.slice(start).split("\n");
  const indent = first.search(/\S/);
  const end = rest.findIndex((line) => line.trim() !== "" && line.search(/\S/) <= indent && !/^\s*[)\]}]/.test(line));
  const text = [first, ...(end === -1 ? rest : rest.slice(0, end))].join("\n").trim();
  if (/^(?:async\s+)?(?:def|class)\b/.test(text) && !/^class\b[^:\n]*\{/.test(text)) {
    const body = text.slice(endOfHead(text)).replace(/("""|''')\s*\1/g, "");
    const rest = body.replace(/#.*/g, "").replace(/^\s*(["'])(?:(?!\1)[^\\\n]|\\.)*\1/, "");
    return emptyBody.test(rest);
  }
  const isFunction = /=>|\bfunction\b|\)[^={}\n]{0,200}\{/.test(text);
  return isFunction && (emptyFunction.test(text.replace(/\/\/.*/g, "")) || signature.test(text));
}

/** Returns the position after the colon that ends the head of a Python definition. */
function endOfHead(text: string): number {
  let depth = 0;
  for (const { index, 0: sign } of text.matchAll(/[()[\]{}:]/g)) {
    if ("([{".includes(sign)) depth += 1;
    else if (")]}".includes(sign)) depth -= 1;
    else if (depth <= 0) return index + 1;
  }
  return text.length;
}
