import { defaultLimits } from "../limits.ts";
import { guestProgram, judgeProgram } from "./guest/program.ts";
import { IsolateSupply } from "./isolate-supply.ts";
import { TypeScriptCache } from "./javascript-files.ts";

/** What a process keeps from job to job; nothing of it comes from one. */
export interface JobTools {
  readonly typeScript: TypeScriptCache;
  readonly guests: IsolateSupply;
  readonly judges: IsolateSupply;
}

/** Makes them, and loads the converter of TypeScript, which takes time and much address space. */
export function createJobTools(): JobTools {
  const typeScript = new TypeScriptCache();
  typeScript.javascriptOf("");
  const tools = { typeScript, guests: new IsolateSupply(guestProgram), judges: new IsolateSupply(judgeProgram) };
  tools.guests.prepare(defaultLimits.memoryMb);
  return tools;
}
