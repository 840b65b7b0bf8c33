import type { Runtime, Session } from "node:inspector";
import { positionText, type SourcePosition } from "./source-location.ts";

const positions = new WeakMap<object, SourcePosition | undefined>();
/** The files of scripts, by the inspector's script ids. */
const files = new Map<string, string>();
const handle = Symbol.for("lyceum.located-function");

/** Maps each of our wrappers to the user's function that it calls. */
const originals = new WeakMap<object, object>();

/** Makes errors name the source position of `original`, the user's function, for `wrapper`. Returns `wrapper`. */
export function locateAs<Wrapper extends object>(wrapper: Wrapper, original: object): Wrapper {
  originals.set(wrapper, original);
  return wrapper;
}

/**
 * Returns the source position of a function as `file:line:column`. Returns undefined if it is unknown. Slow, so use it
 * for errors only.
 */
export function writtenAt(written: object): string | undefined {
  if (!positions.has(written)) positions.set(written, locate(originals.get(written) ?? written));
  const position = positions.get(written);
  return position === undefined ? undefined : positionText(position);
}

/** Reads the position from the inspector, the only source of it. Its calls are synchronous within a thread. */
function locate(written: object): SourcePosition | undefined {
  const inspector = process.getBuiltinModule("node:inspector");
  if (inspector === undefined) return undefined;
  const session = new inspector.Session();
  session.connect();
  try {
    const { scriptId, lineNumber, columnNumber } = functionLocation(session, written) ?? {};
    if (!files.has(scriptId)) {
      // Reports all loaded scripts, which is slow.
      session.on("Debugger.scriptParsed", ({ params }) => void files.set(params.scriptId, params.url));
      session.post("Debugger.enable");
    }
    const file = files.get(scriptId);
    return file === undefined || file === "" ? undefined : { file, line: lineNumber + 1, column: columnNumber + 1 };
  } finally {
    session.disconnect();
  }
}

function functionLocation(session: Session, written: object): Runtime.RemoteObject["value"] {
  let found: Runtime.RemoteObject["value"];
  Object.defineProperty(globalThis, handle, { value: written, configurable: true });
  session.post("Runtime.evaluate", { expression: `globalThis[Symbol.for("${handle.description}")]` }, (_, answer) => {
    const objectId = answer?.result?.objectId;
    if (objectId === undefined) return;
    session.post("Runtime.getProperties", { objectId, ownProperties: true }, (_error, properties) => {
      found = properties?.internalProperties?.find(({ name }) => name === "[[FunctionLocation]]")?.value?.value;
    });
  });
  Reflect.deleteProperty(globalThis, handle);
  return found;
}
