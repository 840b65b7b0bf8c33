import { execFileSync } from "node:child_process";
import { afterAll, describe, expect, test } from "vitest";
import { createDockerJavaScriptSandbox } from "../../sandbox/docker/create-docker-javascript-sandbox.ts";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { missingRequirement } from "./docker-javascript.ts";
import { callsOf, float, list, runJavaScript } from "./isolated-vm-sandbox.ts";

const stdin = "3 4\nhello\nlast\n";

/** Programs whose output equals Node's. */
const programs: Record<string, string> = {
  "hashes and HMACs": `import { createHash, createHmac, hash } from "node:crypto";
    const names = "md5 sha1 sha224 SHA256 RSA-SHA384 sha512 sha512-256 ripemd160 sha3-256".split(" ");
    for (const name of names) {
      console.log(name, createHash(name).update("äb").update(Buffer.from([1, 2])).digest("hex"));
      console.log(createHmac(name, "key").update("x").digest("base64"), hash(name, "y"));
    }
    const open = createHash("md5"), copy = open.copy();
    open.digest();
    try { open.update("x") } catch (error) { console.log(error.code, copy.digest("latin1").length) }
    try { createHash("md6") } catch (error) { console.log(error.message) }`,
  "Web Crypto and random values": `const { randomUUID, randomBytes, randomInt, timingSafeEqual } = require("crypto");
    console.log(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(randomUUID()));
    console.log(randomBytes(5).length, randomInt(3) < 3, crypto.getRandomValues(new Uint8Array(3)).length);
    console.log(timingSafeEqual(Buffer.from("a"), Buffer.from("a")), randomUUID() === crypto.randomUUID());
    crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc")).then((d) => console.log(Buffer.from(d).toString("hex")));`,
  assertions: `const assert = require("assert"), strict = require("node:assert/strict");
    assert.deepStrictEqual({ a: [1] }, { a: [1] });
    for (const fails of [() => assert.strictEqual(1, 2), () => strict.equal(1, "1"), () => assert(0), () => assert.throws(() => 0)])
      try { fails(); console.log("passed") } catch (error) { console.log(error.name, error.code) }`,
  "util.inspect and util.format": `const util = require("util");
    console.log(util.inspect({ a: { b: { c: { d: 1 } } } }, { depth: 0 }), util.inspect(new Map([[1, { a: [2n] }]])));
    console.log(util.format("%s %d %j %o", "x", 5, { a: 1 }, [1]), util.inspect("it's"), util.inspect(new (class A { x = 1 })()));
    console.log(util.isDeepStrictEqual({ a: 1 }, { a: 1 }), util.isDeepStrictEqual([1], ["1"]));`,
  "util.types": `import types from "node:util/types";
    const values = [1, "a", new Date(), /x/, new Map(), new Set(), new WeakMap(), new Uint8Array(1), new DataView(new ArrayBuffer(1)),
      new ArrayBuffer(1), Promise.resolve(), new TypeError("x"), function* () {}, async () => 0, Object(1), Object("s"), Object(2n), {}, null];
    for (const name of ["isDate", "isRegExp", "isMap", "isSet", "isWeakMap", "isTypedArray", "isUint8Array", "isDataView", "isArrayBuffer",
      "isPromise", "isNativeError", "isGeneratorFunction", "isAsyncFunction", "isNumberObject", "isBoxedPrimitive"])
      console.log(name, values.map((value) => Number(types[name](value))).join(""));`,
  "util.promisify and util.callbackify": `const { promisify, callbackify } = require("util");
    promisify((x, done) => setTimeout(() => done(null, x * 2), 5))(4).then(console.log);
    promisify((done) => done(new RangeError("r")))().catch((error) => console.log(error.name));
    callbackify(async (x) => x + 1)(1, (error, value) => console.log(error, value));`,
  "readline by events": `const rl = require("readline").createInterface({ input: process.stdin });
    let n = 0;
    rl.on("line", (line) => { console.log(++n, line); if (n === 2) rl.close(); });
    rl.on("close", () => console.log("closed"));`,
  "readline by questions": `const rl = require("readline").createInterface({ input: process.stdin, output: process.stdout });
    rl.question("a? ", (a) => rl.question("b? ", (b) => { console.log([a, b]); rl.close(); }));`,
  "readline by iteration": `import { createInterface } from "node:readline";
    const lines = [];
    for await (const line of createInterface({ input: process.stdin })) lines.push(line);
    console.log(lines);`,
  "process.stdin by events": `let data = "";
    process.stdin.setEncoding("utf8");
    process.stdin.on("data", (chunk) => (data += chunk)).on("end", () => console.log(JSON.stringify(data)));`,
  "process.stdin by reads": `process.stdin.on("readable", () => {
      for (let chunk; (chunk = process.stdin.read()) !== null; ) process.stdout.write(chunk.toString().toUpperCase());
    });
    process.stdin.on("end", () => console.log("end"));`,
  "process.stdin by iteration": `(async () => { let all = ""; for await (const chunk of process.stdin) all += chunk; console.log(all); })();`,
  events: `const EventEmitter = require("events");
    class Own extends EventEmitter {}
    const own = new Own();
    own.once("x", (value) => console.log("once", value)).on("x", (value) => console.log("on", value));
    own.emit("x", 1); own.emit("x", 2);
    try { own.emit("error", new RangeError("r")) } catch (error) { console.log(error.name) }
    console.log(own.listenerCount("x"), EventEmitter.EventEmitter === EventEmitter);`,
  path: `const path = require("node:path"), { posix, sep, delimiter } = require("path");
    const seeds = ["", "/", "a", "a/b", "/a/../b", "./x.js", "../..", "a//b///c", "/a/b/", ".", "..", "x.tar.gz", ".bashrc", "a.", "é/ü.txt", "/..", "a/./b", "C:\\\\x", "...", "/a/b/c.d/e"];
    const show = (f) => { try { return JSON.stringify(f()); } catch (e) { return e.constructor.name + (e.code ?? ""); } };
    for (const a of seeds) {
      console.log(a, show(() => path.normalize(a)), show(() => path.basename(a)), show(() => path.dirname(a)), show(() => path.extname(a)), show(() => path.parse(a)), show(() => path.format(path.parse(a))), show(() => path.isAbsolute(a)), show(() => path.toNamespacedPath(a)));
      for (const b of seeds) console.log(a, b, show(() => path.join(a, b)), show(() => path.resolve("/r", a, b)), show(() => path.relative("/q/" + a, "/q/" + b)), show(() => path.basename(a, b)), 0);
    }
    console.log(path.format({ name: "a", ext: "js" }), path.format({ dir: "/x", base: "y.z", ext: "q" }), path.format({ root: "/", name: "n" }), show(() => path.format({})), show(() => path.format(5)), show(() => path.format(null)));
    for (const bad of [undefined, null, 5, {}, []]) console.log(show(() => path.join(bad)), show(() => path.basename(bad)), show(() => path.resolve(bad)), show(() => path.parse(bad)), show(() => path.isAbsolute(bad)));
    console.log(sep, delimiter, posix === path, path.posix.posix === posix, require("path/posix") === path, path.join());`,
  string_decoder: `const { StringDecoder } = require("node:string_decoder");
    const show = (f) => { try { return JSON.stringify(f()); } catch (e) { return e.constructor.name + (e.code ?? ""); } };
    const texts = ["héllo😀", "a", "", "€€", "\\ufeffx", "日本語テキスト"];
    for (const enc of [undefined, "utf8", "UTF-8", "utf16le", "ucs2", "base64", "hex", "latin1", "binary", "ascii", "base64url"]) {
      console.log(enc, show(() => new StringDecoder(enc).encoding));
      for (const t of texts) for (const size of [1, 2, 3, 5]) {
        const bytes = Buffer.from(t, enc === "utf16le" || enc === "ucs2" ? "utf16le" : "utf8");
        console.log(show(() => { const d = new StringDecoder(enc); const out = []; for (let i = 0; i < bytes.length; i += size) out.push(d.write(bytes.subarray(i, i + size))); out.push(d.end()); return out; }));
      }
    }
    const broken = [[0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xff, 0x41], [0xc3, 0x28], [0xe2, 0x28, 0xa1], [0xed, 0xa0, 0x80], [0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xc0, 0xaf]];
    for (const b of broken) for (const cut of [1, 2, 9]) console.log(JSON.stringify(b), cut, show(() => { const d = new StringDecoder("utf8"); const x = Buffer.from(b); return [d.write(x.subarray(0, cut)), d.write(x.subarray(cut)), d.end(), d.write(Buffer.from("z"))]; }));
    console.log(show(() => new StringDecoder("nope")), show(() => new StringDecoder().write("text")), show(() => new StringDecoder().write(new Uint8Array([65]))), show(() => new StringDecoder().end(Buffer.from([0xe2]))), show(() => new StringDecoder().write(5)), show(() => new StringDecoder().write(new DataView(new ArrayBuffer(2)))));
    console.log(show(() => { const d = new StringDecoder("utf16le"); return [d.write(Buffer.from([0x3d])), d.write(Buffer.from([0xd8])), d.end()]; }));`,
  Buffer: `console.log(Buffer.from("héllo").toString("hex"), Buffer.from("aGk=", "base64").toString(), Buffer.byteLength("é"));
    console.log(Buffer.concat([Buffer.from("a"), Buffer.alloc(2)]).length, Buffer.from([1, 2, 3]).readUInt16BE(1), btoa("hi"), atob("aGk="));
    console.log(require("buffer").Buffer === Buffer, Buffer.isBuffer(new Uint8Array(1)), Buffer.from("abc").equals(Buffer.from("abc")));`,
  URL: `const url = new URL("https://user:pw@example.com:8080/a/../b?x=1&y=2#h");
    url.searchParams.append("z", "a b");
    console.log(url.href, url.host, url.origin, url.hash, new URL("../c", "http://h/a/b/").pathname, URL.canParse("nope"));
    const params = new URLSearchParams({ a: "1", b: "x y" });
    params.append("a", "2");
    console.log(String(params), params.getAll("a"), url.searchParams instanceof URLSearchParams, require("url").URL === URL);
    try { new URL("nope") } catch (error) { console.log(error.name) }`,
  "TextEncoder and TextDecoder": `const bytes = new TextEncoder().encode("añ€😀\\ud800");
    console.log([...bytes].join(), new TextDecoder().decode(bytes), new TextDecoder("utf8").decode(new Uint8Array([239, 187, 191, 97])));
    try { new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])) } catch (error) { console.log(error.name) }
    console.log(new TextEncoder().encodeInto("€€", new Uint8Array(4)).read, require("util").TextDecoder === TextDecoder);`,
  structuredClone: `const a = { d: new Date(0), m: new Map([[1, { x: 1 }]]), s: new Set([1]), n: [1, [2]], r: /x/g, u: new Uint8Array([1]) };
    a.self = a;
    const b = structuredClone(a);
    console.log(b !== a, b.self === b, b.d.getTime(), b.m.get(1), b.m.get(1) !== a.m.get(1), b.s.has(1), b.n, b.r.flags, b.u[0]);
    try { structuredClone(() => 1); console.log("cloned") } catch { console.log("refused") }`,
  clocks: `const start = performance.now();
    console.log(performance.now() >= start, require("perf_hooks").performance === performance);
    console.log(process.hrtime(process.hrtime()).every((n) => n >= 0), typeof process.hrtime.bigint(), process.uptime() >= 0);`,
  "console.group and its kin": `console.group("outer", 1); console.log("a\\nb", { x: [1] }); console.group(); console.count();
    console.groupEnd(); console.groupCollapsed("inner"); console.count(); console.count("own"); console.countReset();
    console.count(); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log("flush");
    console.assert(1 === 1, "silent"); console.dir({ a: 1 }, { depth: 0 }); console.time(); console.timeEnd("other");`,
  "console.table": `console.table([{ a: 1, b: "x" }, { a: 2, c: true }]); console.table([1, "b", { q: 1 }]); console.table([[1, 2], [3]]);
    console.table({ x: { v: 1 }, y: { v: 2 } }); console.table("s"); console.table([{ a: 1, b: 2 }], ["b"]);
    console.table(new Map([["k", 1]])); console.table(new Set(["q"])); console.table([]);`,
  "console.table in a group": `console.group("outer"); console.table([{ a: 1 }, { a: 2 }]); console.group(); console.table([[1, [2, 3, 4, 5, 6]]]);
    console.table("s"); console.table(null); console.table([]); console.groupEnd(); console.table(new Map([["k", { x: 1, y: 2, z: 3 }]]));
    console.groupEnd(); console.table([{ a: { x: 1 }, b: [1, 2, 3, 4] }, { a: { x: 1, y: 2, z: { w: 1 } } }]);`,
  "console.table of wide texts": `console.table([{ 名前: "日本語", b: "é" }, { 名前: "e\u0301", b: "한글" }, { 名前: "😀", b: "" }]);
    console.table([{ a: "%s %d" }]); console.table([{ a: undefined, b: null, c: Symbol("s"), d: 1n, e: -0, f: () => 1 }]);`,
  "console.table through a log of its own": `const lines = []; const log = console.log; console.log = (text) => lines.push(text);
    console.table([{ a: 1 }]); console.dir({ b: 2 }); console.log = log; console.log(lines.length, lines[0]);`,
  "console.dir": `const deep = { a: { b: { c: { d: { e: 1 } } } }, list: [[[[[1]]]]] };
    console.dir(deep); console.dir(deep, { depth: 0 }); console.dir(deep, { depth: null }); console.dir(deep, { depth: 1 });
    console.dir("a"); console.dir("it's"); console.dir(5); console.dir(null); console.dir(undefined); console.dir([1, , 3]);
    console.dir({ get x() { return 1; } }); console.dir(new Map([[{ a: { b: { c: 1 } } }, new Set([1])]]), { depth: 0 });
    console.dir(new (class A { x = 1; [Symbol.for("nodejs.util.inspect.custom")]() { return "own"; } })());
    console.dir(Array.from({ length: 120 }, (_, i) => i)); console.dir([1, 2, 3], { maxArrayLength: 1 });
    console.dir(Object.defineProperty({}, "h", { value: 1 }), { showHidden: true }); console.dir("a", "b");
    console.group("g"); console.dir({ text: "x".repeat(60), other: "y".repeat(60) }); console.dir("line\\nbreak"); console.groupEnd();`,
  "console.clear and its kin": `console.group("g"); console.log("a"); console.clear(); console.log("b"); console.clear("x");
    console.dirxml({ a: { b: { c: { d: 1 } } } }, [1], "s"); console.groupEnd(); console.log(typeof console.clear, console.clear());`,
  "the order of ticks, microtasks and timers": `process.nextTick((x) => console.log(x), "tick");
    queueMicrotask(() => console.log("micro"));
    setTimeout(() => console.log("timer"), 5);
    clearTimeout(setTimeout(() => console.log("no"), 1));
    clearImmediate(setImmediate(() => console.log("no")));
    require("timers/promises").setTimeout(9, "late").then(console.log);`,
  "names of the code's own": `function URL() {} var Buffer = 5; const performance = 3;
    console.log(typeof URL, Buffer, performance);`,
};

const outputs = new Map<string, string>();

/** Runs a program with Node itself, once for all sandboxes. */
function outputOfNode(code: string): string {
  const type = code.startsWith("import ") ? "module" : "commonjs";
  const options = { input: stdin, encoding: "utf8", env: {} } as const;
  const output = outputs.get(code) ?? execFileSync(process.execPath, [`--input-type=${type}`, "--eval", code], options);
  outputs.set(code, output);
  return output;
}

const openings: [string, () => Promise<Sandbox> | Sandbox, string | undefined][] = [
  ["isolated-vm", () => createIsolatedVmSandbox({ workers: 1 }), undefined],
  ["docker (javascript)", () => createDockerJavaScriptSandbox({ workers: 1 }), await missingRequirement()],
];

for (const [name, open, missing] of openings) {
  describe.skipIf(missing !== undefined)(`Node's modules in ${name}`, () => {
    let opened: Promise<Sandbox> | undefined;
    const sandbox = (): Promise<Sandbox> => {
      opened ??= Promise.resolve(open());
      return opened;
    };
    afterAll(async () => (await opened)?.[Symbol.asyncDispose]());

    test("print what Node prints", async () => {
      for (const [title, code] of Object.entries(programs)) {
        const expected = outputOfNode(code);
        const { cases, error } = await runJavaScript(await sandbox(), code, { kind: "program", stdin: [stdin] });
        expect({ title, error, problem: cases[0]!.error, text: cases[0]!.value }).toEqual({ title, text: expected });
      }
    });

    test("solve a benchmark's task of hashes", async () => {
      const code = `function string_to_md5(text) {
        return text === "" ? undefined : require("crypto").createHash("md5").update(text).digest("hex");
      }`;
      const tests = [
        'assert.deepEqual(string_to_md5("Hello world"), "3e25960a79dbc69b674cd4ec67a72c62")',
        'assert.deepEqual(string_to_md5(""), undefined)',
        'assert.deepEqual(string_to_md5("password"), "5f4dcc3b5aa765d61d8327deb882cf98")',
      ];
      const setup = "const assert = require('node:assert');";
      const task = { kind: "judge", setup, exports: ["string_to_md5"], tests } as const;
      const { cases } = await runJavaScript(await sandbox(), code, task);
      expect(cases.map(({ outcome }) => outcome)).toEqual(["returned", "returned", "raised"]);
    });

    test("repeat random values of the same seed", async () => {
      const code = 'const f = () => [require("crypto").randomUUID(), require("crypto").randomInt(1000)];';
      const values = await Promise.all(
        [1, 1, 2].map(async (seed) => {
          const { cases } = await runJavaScript(await sandbox(), code, callsOf("f", []), { seed });
          return cases[0]!.value;
        }),
      );
      expect(values[0]).toEqual(values[1]);
      expect(values[0]).not.toEqual(values[2]);
    });

    test("open no door", async () => {
      const code = `const doors = "child_process net http dgram cluster worker_threads vm os module v8 inspector fs/promises os/x sqlite test"
          .split(" ").concat(["__proto__", "toString", "constructor", "node:constructor", "stdin", "", "node:"]);
        const opens = (name) => { try { require(name); return true; } catch { return false; } };
        function f() {
          const inside = [Buffer, URL, structuredClone, require("util").inspect, require("events"), require("crypto").createHash];
          const outer = inside.map((value) => value.constructor("return typeof process.binding + typeof process.kill + typeof process.mainModule")());
          return [doors.filter(opens), Object.keys(require("fs")), new Set(outer)];
        }`;
      const { cases } = await runJavaScript(await sandbox(), code, callsOf("f", []));
      const sealed = { set: ["undefinedundefinedundefined"] };
      expect(cases[0]!.value).toEqual(list(list(), list("readFileSync"), sealed));
      for (const name of ["child_process", "node:net", "module"]) {
        const loaded = await runJavaScript(await sandbox(), `import "${name}"; export const f = 1;`, callsOf("f", []));
        expect(loaded).toMatchObject({ status: "load_error", error: { message: expect.stringContaining(name) } });
      }
    });

    test("give no judge or comparison to code that changes them", async () => {
      const code = `const assert = require("assert"), util = require("util");
        for (const module of [assert, assert.strict, util, require("buffer"), require("events")])
          for (const key of Object.keys(module)) try { module[key] = () => true } catch {}
        Buffer.from = TextEncoder.prototype.encode = URL.prototype.toString = () => "1234";
        Uint8Array.prototype.every = Array.prototype.push = Object.keys = () => true;
        require = globalThis.Buffer = globalThis.structuredClone = () => assert;
        function f(x) { return x; }`;
      const tests = [
        "assert.equal(f(1), 1)",
        "assert.equal(f(1), 2)",
        "assert.deepStrictEqual(f([1]), [2])",
        "assert.throws(() => f(1))",
      ];
      const task = { kind: "judge", setup: 'const assert = require("assert");', exports: ["f"], tests } as const;
      const judged = await runJavaScript(await sandbox(), code, task);
      expect(judged.cases.map(({ outcome }) => outcome)).toEqual(["returned", "raised", "raised", "raised"]);
      const { cases } = await runJavaScript(await sandbox(), code, callsOf("f", [float(1)], [list("a")]));
      expect(cases.map(({ value }) => value)).toEqual([float(1), list("a")]);
    });

    test("break only for code that breaks what they are made of", async () => {
      const code = `String.prototype.split = Array.prototype.map = Object.defineProperty = globalThis.eval = () => { throw 1; };
        function f(x) { try { require("crypto").createHash("md5").update(x).digest("hex"); } catch {} return x; }`;
      const { cases } = await runJavaScript(await sandbox(), code, callsOf("f", ["a"]));
      expect(cases[0]!.value).toBe("a");
    });
  });
}
