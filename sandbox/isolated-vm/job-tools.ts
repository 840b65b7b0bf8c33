import { defaultLimits } from "../limits.ts";
import { guestProgram, judgeProgram, nodeProgram } from "./guest/program.ts";
import { IsolateSupply } from "./isolate-supply.ts";
import { type NodeLibraries, readNodeLibraries } from "./node-libraries.ts";
import { TypeScriptCache } from "./typescript-cache.ts";

/** The objects that a process keeps between jobs. They contain nothing from a job. */
export interface JobTools {
  readonly typeScript: TypeScriptCache;
  readonly guests: IsolateSupply;
  readonly judges: IsolateSupply;
  /** Returns the text of a library for Node's modules. They are read when the first one is asked for. */
  readonly nodeLibrary: (name: string) => string;
}

/** Creates the tools and loads the TypeScript converter, which takes time and much address space. */
export function createJobTools(): JobTools {
  const typeScript = new TypeScriptCache();
  typeScript.javascriptOf("");
  let libraries: NodeLibraries | undefined;
  const nodeLibrary = (name: string): string => {
    libraries ??= { ...readNodeLibraries(), node: nodeProgram };
    const text = Object.hasOwn(libraries, name) ? libraries[name] : undefined;
    if (text === undefined) throw new Error(`There is no library ${name}.`);
    return text;
  };
  const tools = {
    typeScript,
    nodeLibrary,
    guests: new IsolateSupply(guestProgram),
    judges: new IsolateSupply(judgeProgram),
  };
  tools.guests.prepare(defaultLimits.memoryMb);
  return tools;
}
