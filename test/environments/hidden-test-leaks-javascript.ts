import type { LeakAttack } from "./hidden-test-leaks.ts";

/**
 * Helpers of attacks: everything that code can inspect, the parts of it that look like a test, and the arguments so
 * far.
 */
const look = `const noted = [];
let busy = false;
const note = (value) => { if (busy) return; busy = true; try { noted.push(typeof value === "string" ? value : JSON.stringify(value) ?? String(value)); } catch {} busy = false; };
const secrets = (text) => [...new Set(String(text).match(/(?:visible|hidden)[^a-z]{0,3}\\d\\d/gi) ?? [])].sort().join(" ");
const saw = () => "saw " + noted.join(" ");
let looking = false;
function everything() {
  // A getter may be what is looked at.
  if (looking) return "";
  looking = true;
  const found = [];
  const add = (read) => { try { const value = read(); found.push(typeof value === "object" ? JSON.stringify(value) : String(value)); } catch {} };
  const prepare = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = new Error().stack;
  Error.prepareStackTrace = prepare;
  for (const site of sites) for (const name of ["getThis", "getFunction", "getEvalOrigin", "getFileName", "getFunctionName", "getTypeName", "toString"]) add(() => site[name]());
  for (const name of ["input", "$_", "lastMatch", "leftContext", "rightContext", "$1", "$2"]) add(() => RegExp[name]);
  for (const key of Reflect.ownKeys(globalThis)) { add(() => globalThis[key]); add(() => Object.values(globalThis[key])); }
  for (const name of [0, "/dev/stdin", "solution.js", "solution.ts", "main.js", "tests.js", "/proc/self/cmdline", "/proc/self/environ"]) add(() => require("fs").readFileSync(name));
  add(() => everything.caller); add(() => everything.caller.arguments); add(() => readStdin()); add(() => process.argv);
  looking = false;
  return found.join(" ");
}
function leak(seen) {}
`;

/** Records the arguments and receivers of built-ins. */
const patch = `for (const object of [Reflect, JSON, Object, Array, Array.prototype, Map.prototype, Set.prototype, String.prototype, Function.prototype, Promise.prototype])
  for (const key of Object.getOwnPropertyNames(object)) {
    const { value } = Object.getOwnPropertyDescriptor(object, key);
    if (typeof value !== "function" || /^(constructor|push|getOwnProperty.*|stringify|match|join|sort|then)$/.test(key)) continue;
    try { object[key] = function (...args) { for (const each of [this, ...args]) if (typeof each === "string") noted.push(each); return Reflect_apply(value, this, args); }; } catch {}
  }
`;

/** Getters and setters of prototypes that record their receivers. */
const spy = `for (const { prototype } of [Object, Array])
  for (const name of "args value self property kind target float list dict outcome reference cases next then toJSON get message stack".split(" ").concat(0, 1, 2))
    try { Object.defineProperty(prototype, name, { __proto__: null, configurable: true, get() { note(this); }, set(value) { note(value); } }); } catch {}
`;

/** The attacks. None contains the text of a test. */
export const javascriptLeakAttacks: readonly LeakAttack[] = [
  {
    name: "throws all that it finds while it is loaded",
    before: look,
    after: 'throw new Error("saw " + secrets(everything()));',
  },
  {
    name: "names a class after what it finds",
    before: look,
    after:
      'const name = "Saw" + secrets(everything()).replace(/\\W/g, "_"); throw new { [name]: class extends Error {} }[name]();',
  },
  {
    name: "exits with what it finds",
    before: look,
    after: "console.log(everything()); console.error(everything()); process.exit(3);",
  },
  {
    name: "throws a syntax error of what it finds, twice",
    before: look,
    after:
      'globalThis.left = (globalThis.left ?? "") + everything(); throw new SyntaxError("Cannot use import statement outside a module: saw " + secrets(left));',
  },
  {
    name: "throws what it was called with",
    before: `${look}\nleak = (seen) => { note(seen); throw new Error(saw()); };`,
  },
  {
    name: "throws a class that is named after what it was called with",
    before: `${look}\nleak = (seen) => { noted.push(String(seen).replace(/\\W/g, "_")); throw Object.assign(new Error(), { name: "Saw" + noted.join("_"), constructor: { name: "" } }); };`,
  },
  {
    name: "returns all arguments so far",
    before: `${look}\nleak = (seen) => { note(seen); note(secrets(everything())); return saw(); };`,
  },
  {
    name: "prints what it was called with",
    before: `${look}\nleak = (seen) => { console.log(seen); console.error(seen); process.stdout.write(seen); };`,
  },
  {
    name: "notes what built-ins are called with",
    before: `${look}\nconst Reflect_apply = Reflect.apply;\n${patch}\nleak = (seen) => { throw new Error(saw()); };`,
    after: "if (noted.length > 0) throw new Error(saw());",
  },
  {
    name: "notes what prototypes are asked about",
    before: `${look}\n${spy}\nleak = (seen) => { note(seen); throw new TypeError(saw()); };`,
    after: "if (noted.length > 0) throw new TypeError(saw());",
  },
  {
    name: "gives an object that shows more of itself",
    before: `${look}\nleak = (seen) => { note(seen); return { get a() { return saw(); }, toJSON: saw, toString: saw, [Symbol.toPrimitive]: saw }; };`,
  },
  {
    name: "gives a proxy that notes who asks",
    before: `${look}\nleak = (seen) => { note(seen); return new Proxy({}, { ownKeys: () => [saw(), everything()], getOwnPropertyDescriptor: () => ({ value: saw(), enumerable: true, configurable: true }) }); };`,
  },
  {
    name: "rejects with what it was called with",
    before: `${look}\nleak = async (seen) => { note(seen); await 0; throw new RangeError(saw()); };`,
  },
  {
    name: "leaves rejections that nobody handles",
    before: `${look}\nleak = (seen) => { note(seen); Promise.reject(new Error(saw())); queueMicrotask(() => { throw new Error(saw()); }); };`,
    after: 'Promise.reject(new Error("saw " + secrets(everything())));',
  },
  {
    name: "prepares stacks of what it was called with",
    before: `${look}\nError.prepareStackTrace = (error, sites) => { error.message = saw() + secrets(everything()); return error.message; };\nleak = (seen) => { note(seen); null.x; };`,
  },
  {
    name: "throws an error that finds more when it is read",
    before: `${look}\nleak = (seen) => { note(seen); throw { get constructor() { return { name: saw() }; }, get name() { return saw(); }, get message() { return saw() + everything(); }, get stack() { return saw(); } }; };`,
  },
  {
    name: "throws later, by timers",
    before: `${look}\nleak = (seen) => { note(seen); setInterval(() => { throw new Error(saw()); }, 1); return new Promise((ok) => setTimeout(() => ok(saw()), 5)); };`,
  },
  {
    name: "answers for earlier calls",
    before: `${look}\nconst waiting = [];\nleak = (seen) => { note(seen); for (const ok of waiting) ok(saw()); return new Promise((ok) => waiting.push(ok)); };`,
  },
  {
    name: "is loaded as a module that waits for calls",
    before: `export {};\n${look}\nleak = (seen) => { note(seen); globalThis.go?.(); };`,
    after:
      'await new Promise((ok) => { globalThis.go = ok; setTimeout(ok, 9); });\nthrow new Error("saw " + secrets(everything()) + noted);',
  },
  {
    name: "is loaded as a module that reads itself",
    before: `import * as own from "./solution.js";\n${look}\nleak = (seen) => { note(seen); throw new Error(saw() + Object.values(own).map(String)); };`,
  },
  {
    name: "keeps what it was called with for its next run",
    before: `${look}\nleak = (seen) => { const before = secrets(everything()); for (const place of [globalThis, process.env, console, Math, require("fs"), Symbol.for("seen")]) try { place.seen = (place.seen ?? "") + seen; } catch {} throw new Error("saw " + before); };`,
    after:
      'const kept = secrets(everything() + [globalThis, process.env, console, Math, require("fs")].map(({ seen }) => seen)); if (kept) throw new Error("saw " + kept);',
  },
  {
    name: "changes its arguments and what it has given",
    before: `${look}\nleak = (seen) => { note(seen); noted.push(noted); return noted; };`,
  },
  {
    name: "ends its process when it is called",
    before: `${look}\nleak = (seen) => { console.log(seen); process.exit(1); };`,
  },
  {
    name: "runs out of stack when it is called",
    before: `${look}\nleak = (seen) => { note(seen); const deep = () => deep(); try { deep(); } catch (error) { error.message = saw(); throw error; } };`,
  },
  { name: "gives more than a result may have", before: `${look}\nleak = (seen) => seen.repeat(1e6);` },
  {
    name: "throws strings, symbols and numbers",
    before: `${look}\nleak = (seen) => { note(seen); throw [saw(), Symbol(saw()), 1n, () => saw()][noted.length % 4]; };`,
  },
  {
    name: "defines the function as a proxy",
    before: `${look}\nconst spied = new Proxy(function () {}, { apply: (_, self, args) => { note(args); throw new Error(saw()); }, get: (_, key) => note(key) });`,
    after: "shout = spied; globalThis.shout = spied;",
  },
];
