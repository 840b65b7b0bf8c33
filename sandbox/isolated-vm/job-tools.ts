import { defaultLimits } from "../limits.ts";
import { guestProgram, judgeProgram } from "./guest/program.ts";
import { IsolateSupply } from "./isolate-supply.ts";
import { TypeScriptCache } from "./javascript-files.ts";

/** The objects that a process keeps between jobs. They contain nothing from a job. */
export interface JobTools {
  readonly typeScript: TypeScriptCache;
  readonly guests: IsolateSupply;
  readonly judges: IsolateSupply;
}

/** Creates the tools and loads the TypeScript converter, which takes time and much address space. */
export function createJobTools(): JobTools {
  const typeScript = new TypeScriptCache();
  typeScript.javascriptOf("");
  const tools = { typeScript, guests: new IsolateSupply(guestProgram), judges: new IsolateSupply(judgeProgram) };
  tools.guests.prepare(defaultLimits.memoryMb);
  return tools;
}
