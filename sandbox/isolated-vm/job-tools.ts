import { CompiledProgram } from "./compiled-program.ts";
import { guestProgram, judgeProgram } from "./guest/program.ts";
import { TypeScriptCache } from "./javascript-files.ts";

/** What a process keeps from job to job; nothing of it comes from one. */
export interface JobTools {
  readonly typeScript: TypeScriptCache;
  readonly guest: CompiledProgram;
  readonly judge: CompiledProgram;
}

/** Makes them, and loads the converter of TypeScript, which takes time and much address space. */
export function createJobTools(): JobTools {
  const typeScript = new TypeScriptCache();
  typeScript.javascriptOf("");
  return { typeScript, guest: new CompiledProgram(guestProgram), judge: new CompiledProgram(judgeProgram) };
}
