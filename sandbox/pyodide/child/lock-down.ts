import { registerHooks } from "node:module";

/*
 * Python in WebAssembly reaches JavaScript, and JavaScript reaches the machine. Node's permissions take most of that
 * away (files, processes, addons); this takes the rest: Pyodide gets modules that hold only what it needs to start, and
 * names that lead out are gone.
 */

/** What Pyodide imports, by name; everything else is an empty module. */
const stubs: Readonly<Record<string, string>> = {
  "node:fs": 'import { readFileSync } from "node:fs"; export default { readFileSync };',
  "node:fs/promises": 'import { readFile } from "node:fs/promises"; export { readFile }; export default { readFile };',
  "node:module": [
    'import fs from "node:fs"; import path from "node:path"; import url from "node:url";',
    'const modules = { "node:fs": { readFileSync: fs.readFileSync, constants: fs.constants }, "node:path": path, "node:url": url,',
    ' "node:crypto": { randomFillSync: (view) => globalThis.crypto.getRandomValues(view) } };',
    // Python's os.system ends in spawnSync.
    "const processes = { spawnSync: () => ({ status: 127, signal: null, error: undefined }) };",
    'export const createRequire = () => (name) => name.endsWith("child_process") ? processes : (modules[name] ?? {});',
  ].join("\n"),
};
const real: readonly string[] = ["node:path", "node:url"];

/**
 * Closes the process; from here on files can be imported, and of Node only what Pyodide needs to start. `fillRandom`
 * takes the place of the machine's source of randomness.
 */
export function lockDown(fillRandom: (bytes: Uint8Array) => Uint8Array): void {
  Object.defineProperty(globalThis, "crypto", { value: { getRandomValues: fillRandom } });
  registerHooks({
    resolve(specifier, context, next) {
      const own = context.parentURL?.startsWith("data:");
      if (own || specifier.startsWith("file:") || real.includes(specifier)) return next(specifier, context);
      const text = stubs[specifier] ?? "export default {};";
      return { url: `data:text/javascript,${encodeURIComponent(text)}`, format: "module", shortCircuit: true };
    },
  });
  // Emscripten asks for the numbers of open flags, which permissions deny; nothing mounts the machine's files.
  Object.defineProperty(process, "binding", { value: () => ({ fs: {} }) });
  for (const name of ["getBuiltinModule", "dlopen", "_linkedBinding", "_debugProcess", "_debugEnd", "chdir"]) {
    Reflect.deleteProperty(process, name);
  }
  for (const name of ["fetch", "WebSocket", "EventSource", "Worker", "BroadcastChannel", "MessageChannel"]) {
    Reflect.deleteProperty(globalThis, name);
  }
}

/** Takes the rest of `process` away once Python runs: nothing on it is needed any more but what Node itself uses. */
export function closeProcess(): void {
  const kept = ["versions", "version", "platform", "arch", "emitWarning", "nextTick", "emit", "listenerCount"];
  for (const key of Reflect.ownKeys(process)) {
    if (!kept.includes(String(key))) Reflect.deleteProperty(process, key);
  }
}
