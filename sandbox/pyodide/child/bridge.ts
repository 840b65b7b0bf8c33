/*
 * In Pyodide, Python can own JavaScript objects, and every such object leads to all others. Jobs do not need them.
 * Therefore the functions with which Python gets, reads and calls JavaScript objects are closed after Python has
 * started. Calling one ends the interpreter, because no effect of a job in JavaScript may remain for the next job.
 */

const bridge = /^_?Js|^raw_call_js$|^pyproxy_new|^python2js_|^js2python_convert$|dlopen_js$/;
/** Needed to pass texts in and out, and to throw errors to JavaScript. */
const needed = ["JsvArray_Get", "JsvError_Check", "JsvError_Throw", "JsvNoValue_Check", "Jsv_GetError_import"];

type Imports = Record<string, Record<string, unknown>>;

/** Part of WebAssembly, which Node has and its types lack. */
declare const WebAssembly: { instantiate: (source: unknown, imports?: Imports) => Promise<unknown> };

/** Guards the bridge functions of everything that is instantiated from now on. The returned function closes them. */
export function gateBridge(): () => void {
  let closed = false;
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (source, imports) => {
    for (const [name, value] of Object.entries(imports?.env ?? {})) {
      if (typeof value !== "function" || !bridge.test(name) || needed.includes(name)) continue;
      imports!.env![name] = (...args: unknown[]) => {
        if (closed) throw new Error("The code tried to use JavaScript.");
        return value(...args);
      };
    }
    return instantiate(source, imports);
  };
  return () => {
    closed = true;
  };
}
