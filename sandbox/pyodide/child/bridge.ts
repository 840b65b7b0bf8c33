/*
 * Pyodide lets Python hold JavaScript objects, and from any of them a way leads to all. A job has no use for that, so
 * the functions that Python's side calls to get, read and call such objects are closed once Python runs. Reaching for
 * one ends the interpreter: nothing that a job did in JavaScript may be there for the next.
 */

const bridge = /^_?Js|^raw_call_js$|^pyproxy_new|^python2js_|^js2python_convert$|dlopen_js$/;
/** What the texts that go in and out need, and an error on its way out. */
const needed = ["JsvArray_Get", "JsvError_Check", "JsvError_Throw", "JsvNoValue_Check", "Jsv_GetError_import"];

type Imports = Record<string, Record<string, unknown>>;

/** Of WebAssembly, which Node has and its types lack. */
declare const WebAssembly: { instantiate: (source: unknown, imports?: Imports) => Promise<unknown> };

/** Puts a gate into the bridge of what is instantiated from now on; the function returned closes it. */
export function gateBridge(): () => void {
  let closed = false;
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (source, imports) => {
    for (const [name, value] of Object.entries(imports?.env ?? {})) {
      if (typeof value !== "function" || !bridge.test(name) || needed.includes(name)) continue;
      imports!.env![name] = (...args: unknown[]) => {
        if (closed) throw new Error("The code reached for JavaScript.");
        return value(...args);
      };
    }
    return instantiate(source, imports);
  };
  return () => {
    closed = true;
  };
}
