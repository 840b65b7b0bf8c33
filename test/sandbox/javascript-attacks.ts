/** Code that defines `f`, which never returns the right result. In JavaScript, unless stated otherwise. */
export interface JavascriptAttack {
  readonly name: string;
  readonly code: string;
  readonly language?: "typescript";
}

type Named = Readonly<Record<string, string>>;

const attacks = (kind: string, codes: Named): JavascriptAttack[] =>
  Object.entries(codes).map(([name, code]) => ({ name: `${kind}: ${name}`, code }));
const typed = (codes: Named): JavascriptAttack[] =>
  attacks("TypeScript", codes).map((attack) => ({ ...attack, language: "typescript" }));

/** A function of one expression. */
const give = (expression: string): string => `function f(x) { return ${expression}; }`;
/** A function that does something and returns 1. */
const act = (...lines: readonly string[]): string => `function f(x) { ${lines.join(" ")} return 1; }`;
const fail = (expression: string): string => `function f(x) { throw ${expression}; }`;

/** The names of the parts of replies, requests and options. */
const parts =
  "kind target property self args outcome value changedArgs error promise type message line reference cases next then toJSON get set enumerable configurable writable list dict float int exports send depth refer resolve reason length";

const polluted = attacks("what the judge uses", {
  "getters of every prototype": `const seen = []; const lie = { get() { seen.push(this); return 1234; }, set() {}, configurable: true, __proto__: null };
    for (const { prototype } of [Object, Array, Function, String, Promise, Map]) for (const name of "${parts}".split(" "))
      try { Object.defineProperty(prototype, name, lie); } catch {}
    ${give("seen.map((each) => Object.values(each))[0]")}`,
  "values of every prototype": `for (const { prototype } of [Object, Array, Function, Promise]) for (const name of "${parts}".split(" "))
      try { Object.defineProperty(prototype, name, { value: 1234, configurable: true, __proto__: null }); } catch {}
    ${give("1")}`,
  "getters that loop": `for (const name of "${parts}".split(" ")) Object.defineProperty(Object.prototype, name, { __proto__: null, get() { for (;;); }, configurable: true }); ${give("1")}`,
  "prototypes frozen": `for (const each of [Object, Array, Function, Promise, Map, Set, Error, JSON, Reflect]) { Object.freeze(each); Object.freeze(each.prototype); } ${give("1")}`,
  "prototypes emptied": `for (const { prototype } of [Promise, Array, String, Map, Set, Function, RegExp, Error]) for (const key of Reflect.ownKeys(prototype)) try { delete prototype[key]; } catch {} ${give("1")}`,
  "prototypes led elsewhere": `const any = new Proxy({}, { get: () => 1234, has: () => true }); for (const { prototype } of [Array, Function, Map, Promise, Error]) try { Object.setPrototypeOf(prototype, any); } catch {} ${give("1")}`,
  "the global object led elsewhere": `try { Object.setPrototypeOf(globalThis, new Proxy({}, { get: () => 1234, has: () => true })); } catch {} ${give("1")}`,
  "species and constructors": `for (const each of [Promise, Array, Map]) Object.defineProperty(each, Symbol.species, { get: () => function (run) { run(() => 0, () => 0); return { then: (ok) => ok(1234) }; } }); Object.defineProperty(Promise.prototype, "constructor", { get: () => function (run) { run(() => 1234, () => 0); } }); async ${give("1")}`,
  "hasInstance and isConcatSpreadable": `Object.defineProperty(Function.prototype, Symbol.hasInstance, { value: () => true }); Object.prototype[Symbol.isConcatSpreadable] = true; Object.prototype[Symbol.toPrimitive] = () => 1234; ${give("({})")}`,
  iterators: `const lie = function* () { yield 1234; }; Array.prototype[Symbol.iterator] = Map.prototype[Symbol.iterator] = String.prototype[Symbol.iterator] = lie; Object.getPrototypeOf(lie.prototype).next = () => ({ done: true }); ${give("[1]")}`,
  "JSON, Reflect, structuredClone and console": `JSON.parse = JSON.stringify = () => "1234"; for (const key of Reflect.ownKeys(Reflect)) try { Reflect[key] = () => 1234; } catch {} globalThis.structuredClone = () => 1234; globalThis.console = new Proxy({}, { get() { throw 1234; } }); ${give("1")}`,
  "names in front of built-ins": `const Object = null, JSON = null, Reflect = null, String = null, Promise = null, Error = null, Array = null; let undefined = 1234; ${give("undefined === 1234 ? 1 : 2")}`,
  "eval and Function": `globalThis.eval = globalThis.Function = () => () => 1234; Function.prototype.constructor = globalThis.eval; ${give('(0, eval)("1")()  === 1234 ? 1 : 2')}`,
  "numbers, symbols and text": `Number.prototype.valueOf = String.prototype.valueOf = () => 1234; Number.isNaN = () => true; Object.is = () => true; Array.isArray = () => true; Symbol.prototype[Symbol.toPrimitive] = () => 1234; ${give("1")}`,
  "bytes and integers": `Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), "length", { get: () => 1234 }); BigInt.asIntN = () => 1234n; BigInt.prototype.toString = () => "1234"; ${give("[new Uint8Array(2), 5n]")}`,
});

const source = attacks("its own text", {
  "swallows what follows by a comment": `${give("1")} /*`,
  "swallows what follows by a template": `${give("1")} const rest = \``,
  "swallows what follows by a condition": `${give("1")} if (0)`,
  "takes what follows for a body": `${give("1")} with (new Proxy({}, { has: () => true, get: () => () => 1234 }))`,
  "returns before the end": `${give("1")} return { f: () => 1234 };`,
  "closes what is around it": `${give("1")} }); ({`,
  "comments of other kinds": `<!-- x\n${give("1")}\n--> x`,
  "another name for itself": `${give("1")}\n//# sourceURL=solution.js\n//# sourceMappingURL=file:///etc/passwd`,
  "other ends of lines, and bytes of zero": `\ufeff${give("'\u2028\\0\ud800'")}\r\u2028\u0000`,
  "one long line": `const text = "${"x".repeat(1_000_000)}"; ${give("text.length")}`,
  "a million statements": `${"1;".repeat(500_000)} ${give("1")}`,
  "endless brackets": `${"(".repeat(200_000)}`,
  "a global accessor that changes": `let reads = 0; Object.defineProperty(globalThis, "f", { get: () => (reads++ ? () => 1 : 1234), configurable: true });`,
  "exports that change":
    "let reads = 0; module.exports = new Proxy({}, { get: () => (reads++ ? () => 1 : undefined) });",
  "a module that exports itself":
    'import * as self from "./solution.js"; export function f() { return Object.keys(self); }',
  "a module that never ends loading": "export function f() { return 1; } await new Promise(() => 0);",
  "a module that waits for a thenable": "export function f() { return 1; } await { then() { for (;;); } };",
  "a module of another":
    'import fs from "node:fs"; export function f() { fs.readFileSync = () => 1234; return fs.readFileSync.toString(); }',
  "an import of what is not there": 'import { x } from "node:child_process"; export function f() { return x; }',
  "a module that is none": `${give("1")} throw new SyntaxError("Cannot use import statement outside a module");`,
});

const results = attacks("a result", {
  "that changes each time it is compared": `class R { n = 0; valueOf() { return this.n++ % 2 ? -1e9 : 1e9; } toString() { return this.valueOf() + ""; } } ${give("new R()")}`,
  "whose length changes": `let n = 0; class R { get length() { return n++ % 2 ? 0 : 2; } get a() { return n++; } get b() { return n++; } } ${give("new R()")}`,
  "that is anything": `const any = new Proxy(function () {}, { get: (_, key) => (key === "then" ? undefined : any), apply: () => any, construct: () => any, has: () => true, getPrototypeOf: () => Array.prototype }); ${give("any")}`,
  "with a primitive of its own": give(
    '({ [Symbol.toPrimitive]: (hint) => (hint === "number" ? 1e9 : "x"), valueOf: () => 1e9 })',
  ),
  "with toJSON": give('Object.assign(() => 0, { toJSON: () => "x" })'),
  "that is itself": give("f"),
  "of a list whose methods agree": `class L extends Array { every() { return true; } includes() { return true; } some() { return true; } static get [Symbol.species]() { return L; } } ${give("L.from([1])")}`,
  "of a generator": "function* f() { for (;;) yield 1; }",
  "of an asynchronous generator": "async function* f() { for (;;) yield 1; }",
  "that is awaited and gives itself": give(
    "new Proxy({}, { get: (_, key, self) => (key === 'then' ? (ok) => ok(self) : self) })",
  ),
  "of endlessly nested promises": `async function f() { return f(); }`,
  "of a promise with two ends": give("Object.assign(new Promise(() => 0), { then(ok, no) { ok(1234); no(1234); } })"),
  "of a proxy that counts its length wrongly": give(
    "new Proxy([1], { getOwnPropertyDescriptor: (target, key) => ({ ...Reflect.getOwnPropertyDescriptor(target, key), value: key === 'length' ? { valueOf: () => 2 ** 40 } : 1 }) })",
  ),
  "of a proxy with a negative length": give(
    "new Proxy([1], { getOwnPropertyDescriptor: (target, key) => ({ ...Reflect.getOwnPropertyDescriptor(target, key), value: key === 'length' ? -1 : 1 }) })",
  ),
  "of a proxy with endless keys": give(
    "new Proxy({}, { ownKeys: () => Array.from({ length: 1e6 }, (_, i) => String(i)), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })",
  ),
  "of a proxy that changes while it is read": `let n = 0; ${give("new Proxy({ a: 1, b: [] }, { getOwnPropertyDescriptor: (_, key) => ({ value: n++, enumerable: true, configurable: true, writable: true }) })")}`,
  "of a proxy in a thousand proxies": give(
    "(() => { let p = [1]; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p; })()",
  ),
  "with a chain of prototypes": give(
    "(() => { let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); return o; })()",
  ),
  "of a map that grows while it is read": give(
    "(() => { const map = new Map(); const add = { ownKeys() { map.set(map.size, new Proxy({}, add)); return []; } }; map.set(0, new Proxy({}, add)); return map; })()",
  ),
  "of bytes that are none": give("Object.setPrototypeOf(new Float64Array([1e9, -5, NaN]), Uint8Array.prototype)"),
  "of bytes that are integers": give("Object.setPrototypeOf(new BigInt64Array(3), Uint8Array.prototype)"),
  "of bytes that are gone": give("(() => { const b = new Uint8Array(9); b.buffer.transfer(); return b; })()"),
  "of bytes that shrink": give(
    "(() => { const buffer = new ArrayBuffer(9, { maxByteLength: 99 }); const b = new Uint8Array(buffer); return [b, new Proxy({}, { ownKeys: () => (buffer.resize(0), []) }), b]; })()",
  ),
  "of other numbers": give("[NaN, -0, 0, Infinity, 1e-320, Number.MAX_VALUE]"),
  "of a list with holes": give("Object.assign(Array(3), { 1: 34, x: 12 })"),
  "that contains itself": give("(() => { const o = { a: 'x' }; o.b = [o]; return o; })()"),
  "of a huge integer": give("1n << 200_000_000n"),
  "of many huge texts": give("Array(1000).fill('x'.repeat(1e6))"),
  "of text without pairs": give("'\\ud800'.repeat(1000) + '\\udfff\\0'"),
  "of another realm's kind": give("Object.setPrototypeOf([1, 2], Object.create(Array.prototype))"),
  "that looks like a stand-in": give('({ reference: 1, type: "function" })'),
  "that looks like a reply": give('({ outcome: "returned", value: { float: "1234" }, promise: true })'),
  "with keys of the language": give('JSON.parse(\'{"__proto__": {"a": "x"}, "constructor": 1, "then": 2}\')'),
});

const errors = attacks("an error", {
  "without a name, for a test that decides": `class E extends Error { get name() { return ""; } } Object.defineProperty(E, "name", { value: "" }); ${fail('new E("x")')}`,
  "named like a test's function": `class E extends Error {} for (const each of [E, E.prototype]) Object.defineProperty(each, "name", { value: "decides" }); ${fail('new E("x")')}`,
  "named like every class": fail('Object.assign(new Error("x"), { constructor: { name: "Error" }, name: "Error" })'),
  "of a test": `class AssertionError extends Error { code = "ERR_ASSERTION"; } ${fail('new AssertionError("x")')}`,
  "named after an object's own": fail(
    'Object.assign(new Error("x"), { constructor: Object.assign(() => 0, {}), name: "__proto__" })',
  ),
  "whose class is named constructor": fail("new { constructor: class constructor extends Error {} }.constructor('x')"),
  "on an infinite line": fail(`Object.assign(new Error("x"), { stack: "solution.js:" + "9".repeat(400) })`),
  "on an infinite line, while it loads": `${give("1")} throw Object.assign(new Error("x"), { stack: "solution.js:" + "9".repeat(400) });`,
  "that nothing handles, on such a line": act(
    'Promise.reject(Object.assign(new Error("x"), { stack: "solution.js:" + "9".repeat(400) }));',
  ),
  "with ten million letters": fail("Object.assign(new Error('x'.repeat(1e7)), { stack: 'A'.repeat(1e7) + ': x' })"),
  "whose class looks again": `let n = 0; ${fail("new Proxy(new Error('x'), { get: (target, key) => (n++ % 2 ? 1234 : target[key]) })")}`,
  "that is a promise": fail("Promise.reject(new Error('1234 is wrong'))"),
  "that is a function": fail("Object.assign(() => 0, { message: '1234', name: 'Error', stack: 5 })"),
  "that is a huge integer": fail("1n << 20_000_000n"),
  "that is a symbol": fail("Symbol('x'.repeat(1e6))"),
  "with causes in a circle": fail(
    "(() => { const e = new Error('x'); e.cause = e; return new AggregateError([e], 'x', { cause: e }); })()",
  ),
  "prepared by a function that throws": `Error.prepareStackTrace = () => { throw new Error("again"); }; ${fail("new Error('x')")}`,
  "prepared by a function that goes on": `Error.prepareStackTrace = (error, sites) => new Error(String(sites)).stack; ${fail("new Error('x')")}`,
  "with all of the stack": `Error.stackTraceLimit = Infinity; function f(x) { return f(x) + 1; }`,
  "at the end of the stack": `function f(x) { try { return f(x); } catch (error) { console.log(error); require("fs"); setTimeout(f); throw error; } }`,
  "at the end of the stack, in a getter": `function deep() { return deep(); } ${give("new Proxy({}, { ownKeys() { return deep(); } })")}`,
});

const argumentsChanged = attacks("an argument", {
  "with a prototype of its own": `function f(x) { if (typeof x === "object") Object.defineProperty(x, "__proto__", { value: { a: 2 }, enumerable: true }); }`,
  "with functions in it": `function f(x) { if (Array.isArray(x)) x.push(() => 1234); else if (typeof x === "object") x.valueOf = () => 1234; }`,
  "that is frozen": "function f(x) { Object.freeze(x); return x; }",
  "that has no end":
    "function f(x) { if (Array.isArray(x)) x.length = 2 ** 32 - 1; else if (typeof x === 'object') x.x = x; }",
  "that becomes something else":
    "function f(x) { if (typeof x === 'object') { Object.setPrototypeOf(x, Map.prototype); delete x.length; for (const key of Object.keys(x)) delete x[key]; } }",
  "that grows endlessly": "function f(x) { for (;;) if (Array.isArray(x)) x.push(x); else x.a = [x.a]; }",
  "changed after the answer": `function f(x) { setTimeout(() => { if (typeof x === "object") x[0] = x.a = 2; }); Promise.resolve().then(() => x.push?.(1)); return 1; }`,
  "kept for later": `const all = []; function f(x) { all.push(x); return all; }`,
  "that has getters":
    "function f(x) { if (typeof x === 'object') for (const key of [0, 'a']) Object.defineProperty(x, key, { get: () => 1234, enumerable: true }); }",
});

const time = attacks("time", {
  "microtasks that make microtasks": act("(function again() { queueMicrotask(again); queueMicrotask(again); })();"),
  "timers that make timers": act(
    "(function again() { setTimeout(again); setImmediate(again); process.nextTick(again); })();",
  ).replace("return 1", "return new Promise(() => 0)"),
  "a hundred thousand timers": act("for (let i = 0; i < 1e5; i++) setTimeout(() => 0, 1e5 - i);"),
  "timers with odd delays": act(
    "for (const d of [NaN, Infinity, -1, 2 ** 60, { valueOf() { for (;;); } }]) { setTimeout(() => { throw 1; }, d); setInterval(() => 0, d); }",
  ),
  "timers that are cancelled by themselves": act(
    "const id = setInterval(() => { clearInterval(id); setInterval(() => clearTimeout(id), 1); }, 1); clearTimeout({}); clearTimeout(undefined);",
  ),
  "an answer by the hand of the next call": `let ok; function f(x) { ok?.(1234); return new Promise((yes) => { ok = yes; }); }`,
  "a loop of awaits over what never ends":
    "async function f() { const all = { [Symbol.asyncIterator]: () => ({ next: () => ({ done: false }) }) }; for await (const x of all); }",
  "what is left to collect": `const registry = new FinalizationRegistry(() => { for (;;); }); async function f() { for (let i = 0; i < 1e5; i++) registry.register({}, i); for (let i = 0; i < 1e4; i++) new Array(1e4); await new Promise((ok) => setTimeout(ok, 1)); return 1; }`,
  "workers and channels": give(
    "[typeof Worker, typeof MessageChannel, typeof BroadcastChannel, typeof SharedArrayBuffer, typeof Atomics, typeof WebAssembly].join()",
  ),
  "waiting for shared memory": "function f() { return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }",
  "a clock that loops": act("const end = Date.now() + 1e9; while (Date.now() < end);"),
});

const loops = attacks("a loop", {
  "in a result's keys": give("new Proxy({}, { ownKeys() { for (;;); } })"),
  "in what says what a thing is": give("new Proxy({}, { getPrototypeOf() { for (;;); } })"),
  "in a thrown class's name": fail("{ get constructor() { for (;;); } }"),
  "in what is printed": act(
    "console.log(new Proxy({}, { getOwnPropertyDescriptor() { for (;;); }, ownKeys: () => ['a'] }), { toString() { for (;;); } });",
  ),
  "in the then of a promise": give("Object.defineProperty(Promise.resolve(1), 'constructor', { get() { for (;;); } })"),
  "in a replacer and a reviver": act("JSON.stringify({ a: 1 }, () => { for (;;); });"),
  "over an infinite iterator": give("[...{ *[Symbol.iterator]() { for (;;) yield 1; } }]"),
  "of a regular expression that looks back": give("/(?<=(a*)*)b$/.test('a'.repeat(40))"),
  "of a regular expression with groups": give("/^(\\w+\\s?)*\\1$/.test('aaaa '.repeat(9) + '!')"),
  "of a regular expression too large to make": give(
    "new RegExp('(?:a|b|c|d|e){1,99999}'.repeat(300)).test('a'.repeat(1e4))",
  ),
  "over a list that has no end": give("Array.prototype.lastIndexOf.call({ length: 2 ** 53 - 1 }, 1)"),
  "in the construction of a class": `class F { constructor() { for (;;); } } const f = new Proxy(F, { apply: () => new F() });`,
  "in the text of a function":
    "const f = () => 1; f.toString = () => { for (;;); }; f[Symbol.toPrimitive] = f.toString;",
  "by eval": act("for (;;) eval('1');"),
  "that dates and languages take part in": act(
    "for (;;) new Intl.DateTimeFormat('de', { timeZone: 'UTC' }).format(0);",
  ),
});

const memory = attacks("memory", {
  "text that is normalized": give("'\\ufdfa'.repeat(2 ** 24).normalize('NFKD').length"),
  "text of replacements": give("'x'.repeat(2 ** 16).replaceAll('x', 'y'.repeat(2 ** 12)).split('').length"),
  "a sparse list as JSON": give("JSON.stringify(Object.assign([], { length: 2 ** 27 })).length"),
  "a list sorted and reversed": give("Array.from({ length: 2 ** 25 }, () => ({})).reverse().sort().length"),
  "buffers that grow and shrink": act(
    "const all = []; for (let i = 1; ; i++) { const b = new ArrayBuffer(0, { maxByteLength: 2 ** 30 }); b.resize(2 ** 24); new Uint8Array(b).fill(i); all.push(b.slice(0)); }",
  ),
  "symbols for everyone": act("for (let i = 0; ; i++) Symbol.for('x'.repeat(1000) + i);"),
  "integers by powers": act("let n = 7n; for (;;) n **= 3n;"),
  "functions with many parameters": act(
    "for (let i = 0; ; i++) new Function(...Array.from({ length: 60_000 }, (_, j) => 'a' + j), 'return ' + i);",
  ),
  "sets of sets": act("const all = new Set(); for (;;) all.add(new Set([all.size]));"),
  "weak maps of buffers": act(
    "const m = new WeakMap(), keys = []; for (;;) { const k = {}; keys.push(k); m.set(k, new Uint8Array(2 ** 20).fill(1)); }",
  ),
  "errors with long stacks": act(
    "Error.stackTraceLimit = Infinity; const all = []; (function deep(n) { all.push(new Error('x').stack); deep(n + 1); })(0);",
  ),
  "generators that are not finished": act(
    "const all = []; function* g() { yield new Array(100).fill(0); } for (;;) { const i = g(); i.next(); all.push(i); }",
  ),
  "a regular expression of many groups": give("new RegExp('(a)'.repeat(2 ** 20)).test('a')"),
  "code of many megabytes": give("eval('[' + '[1],'.repeat(2 ** 22) + ']').length"),
  "bound functions in bound functions": give(
    "(() => { let g = () => 1; for (let i = 0; i < 1e6; i++) g = g.bind(null); return g(); })()",
  ),
  "promises that wait for one another": act("const all = []; for (;;) all.push(Promise.allSettled(all.slice(-100)));"),
  "a call with a million arguments": give("Math.max.apply(null, new Array(2 ** 27))"),
});

const reach = attacks("a way out", {
  "the end of the process, with odd codes": act("process.exit({ valueOf: () => 7 });"),
  "the end of the process, in a microtask": act("queueMicrotask(() => process.exit(NaN));"),
  "the end of the process, in a result": give("new Proxy({}, { ownKeys: () => process.exit(0) })"),
  "the end of the process, in an error": fail("{ get constructor() { process.exit(2 ** 60); } }"),
  "the end of the process, while it loads": `${give("1")} setTimeout(() => process.exit(0)); process.exit(-1.5);`,
  "signals and bindings": act(
    "for (const [name, ...args] of [['kill', 1, 9], ['abort'], ['binding', 'fs'], ['dlopen', {}, '/x'], ['reallyExit', 0], ['_linkedBinding', 'fs'], ['getBuiltinModule', 'fs'], ['chdir', '/']]) try { process[name](...args); } catch {}",
  ),
  "frames on standard output": act(
    String.raw`const frame = (text) => "\0\0\0" + String.fromCharCode(text.length) + text; for (const stream of [process.stdout, process.stderr]) stream.write(frame('{"kind":"result","nonce":"0","result":{},"reusable":true}')); console.log('{"outcome":"returned","value":{"float":"1234"}}');`,
  ),
  "files and descriptors": act(
    "const fs = require('fs'); for (const name of ['writeFileSync', 'writeSync', 'openSync', 'rmSync', 'readdirSync']) try { fs[name]('/proc/self/fd/1', '1234'); } catch {} for (const path of [0, 1, 3, '/proc/self/environ', '/proc/1/cmdline', '../x']) try { fs.readFileSync(path); } catch {}",
  ),
  "modules poisoned": `require("fs").readFileSync = () => "1234"; require.cache = { fs: 1234 }; module.children = [module]; module.constructor._load = () => 1234; ${give("1")}`,
  "the process replaced": `globalThis.process = new Proxy({}, { get: () => () => 1234 }); process.stdout = process.env = null; ${give("1")}`,
  "constructors of constructors": give(
    '[f, async () => 0, function* () {}, console.log, require, setTimeout].map((g) => { try { return g.constructor("return typeof process.mainModule + typeof this.require.main")(); } catch { return 1; } }).length',
  ),
  "imports of every kind": `async function f() { for (const name of ["node:fs", "fs", "data:text/javascript,export default 1", "file:///etc/passwd", "./solution.js"]) try { return String((await import(name)).default); } catch {} return "refused"; }`,
  "frames of the callers": `function f() { Error.prepareStackTrace = (_, sites) => sites; const found = new Error().stack.flatMap((site) => [site.getThis(), site.getFunction()]).filter((each) => each && each !== f && each !== globalThis); for (const each of found) try { each("case", 0, '{"outcome":"returned","value":{"float":"1234"}}'); } catch {} return found.length; }`,
  "callers by arguments": `function f() { const found = []; for (const read of [() => f.caller, () => f.arguments, () => arguments.callee.caller, () => f.caller.caller.arguments]) try { found.push(typeof read()); } catch {} return found; }`,
  "what regular expressions remember": give(
    "[RegExp.input, RegExp.$_, RegExp.lastMatch, RegExp['$`'], RegExp[\"$'\"]].join('')",
  ),
  "names that were left": give(
    "Reflect.ownKeys(globalThis).filter((key) => /lyceum|ivm|guest|maker|send|nonce|\\$/i.test(String(key))).length",
  ),
  "answers with guessed numbers": act(
    "for (let i = 0; i < 1000; i++) console.error(JSON.stringify({ kind: 'result', nonce: String(i).padStart(32, '0'), reusable: true }));",
  ),
  "endless output": act("for (;;) console.log('x'.repeat(1e5), { a: [1] }, new Error('x'));"),
  "one output of many megabytes": act("process.stdout.write('é'.repeat(2 ** 24)); console.error('x'.repeat(2 ** 24));"),
  "output of what cannot be shown": act(
    "for (const value of [new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; } }), Object.create(null), Symbol('x'), new Date(NaN), { get a() { throw 3; } }, function () {}, 1n << 99n, [[[[[[]]]]]]]) try { console.log('%s %d %o', value, value, value); } catch {}",
  ),
  "standard input instead of an answer": give("[readStdin(), process.argv.join(), Object.keys(process.env).length]"),
  "a shadow realm": give(
    'typeof ShadowRealm + typeof globalThis.constructor.constructor("return this")().process?.binding',
  ),
  "hundreds of errors that nothing handles": act(
    "for (let i = 0; i < 500; i++) { Promise.reject(new Error('x'.repeat(2 ** 20))); (async () => { await 0; throw i; })(); }",
  ),
});

const typescript = typed({
  "nested brackets": "(".repeat(50_000),
  "nested types": `type A = ${"B<".repeat(50_000)}`,
  "nested lists": `let a = ${"[".repeat(50_000)}`,
  "a chain of operators": `let a = ${"!".repeat(200_000)}1; function f(x: number) { return 1; }`,
  "a chain of conditions": `let a = ${"1?".repeat(50_000)}`,
  "nested templates": "`${".repeat(50_000),
  "nested arrows": `const f = ${"(x: number) => ".repeat(20_000)}1`,
  "what has to be rewritten":
    "enum A { B = 1 } namespace N { export const c: number = A.B; } function f(x: number): unknown { return [A, N]; }",
  "what cannot be rewritten": 'import x = require("y"); export = x; @d class A {} function f() { return 1; }',
});

/** All attacks. None may pass, be unscored or change what the next job sees. */
export const javascriptAttacks: readonly JavascriptAttack[] = [
  ...[...polluted, ...source, ...results, ...errors, ...argumentsChanged],
  ...[...time, ...loops, ...memory, ...reach, ...typescript],
];
