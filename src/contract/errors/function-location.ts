import type { Runtime, Session } from "node:inspector";
import { positionText, type SourcePosition } from "./source-location.ts";

const positions = new WeakMap<object, SourcePosition | undefined>();
/** The files of scripts, by the ids that the inspector gives them. */
const files = new Map<string, string>();
const handle = Symbol.for("lyceum.located-function");

/** The authors' functions that functions of this package call for them. */
const authored = new WeakMap<object, object>();

/** The function, to be found where `author`, which it calls, is written. */
export function writtenAs<Written extends object>(written: Written, author: object): Written {
  authored.set(written, author);
  return written;
}

/** Where a function is written, as `file:line:column`; undefined if the engine does not know. Slow: for errors only. */
export function writtenAt(written: object): string | undefined {
  if (!positions.has(written)) positions.set(written, locate(authored.get(written) ?? written));
  const position = positions.get(written);
  return position === undefined ? undefined : positionText(position);
}

/** Asks the inspector, which alone knows the place of a function. Its calls are synchronous within a thread. */
function locate(written: object): SourcePosition | undefined {
  const inspector = process.getBuiltinModule("node:inspector");
  if (inspector === undefined) return undefined;
  const session = new inspector.Session();
  session.connect();
  try {
    const { scriptId, lineNumber, columnNumber } = functionLocation(session, written) ?? {};
    if (!files.has(scriptId)) {
      // Names all scripts that there are, which takes a while.
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
