import { registerHooks } from "node:module";

/*
 * Python in WebAssembly can reach JavaScript, and JavaScript can reach the machine. Node's permissions block most of
 * that (files, processes, addons). This module blocks the rest: Pyodide imports modules with only the functions that it
 * needs to start, and names that lead to the machine are removed.
 */

/** The modules that Pyodide may import, by name. All others are empty. */
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
 * Locks the process down. From here on, files can be imported, and of Node only what Pyodide needs to start.
 * `fillRandom` replaces the machine's source of randomness.
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
  // Emscripten reads the numbers of open flags, which permissions deny. Nothing mounts the machine's files.
  Object.defineProperty(process, "binding", { value: () => ({ fs: {} }) });
  for (const name of ["getBuiltinModule", "dlopen", "_linkedBinding", "_debugProcess", "_debugEnd", "chdir"]) {
    Reflect.deleteProperty(process, name);
  }
  for (const name of ["fetch", "WebSocket", "EventSource", "Worker", "BroadcastChannel", "MessageChannel"]) {
    Reflect.deleteProperty(globalThis, name);
  }
}

/** Removes the rest of `process` after Python has started, except what Node itself uses. */
export function closeProcess(): void {
  const kept = ["versions", "version", "platform", "arch", "emitWarning", "nextTick", "emit", "listenerCount"];
  for (const key of Reflect.ownKeys(process)) {
    if (!kept.includes(String(key))) Reflect.deleteProperty(process, key);
  }
}
