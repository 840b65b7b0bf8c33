import { z } from "zod";
import type { ExecuteResult } from "../../sandbox/execution.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { SharedResource } from "../../src/core/environment/shared-resource.ts";
import { defineTool, type Tool, type ToolContext } from "../../src/core/tools/tool.ts";
import { languageNames } from "../shared/code-turns/code-block.ts";
import { processorTime } from "../shared/code-turns/processor-time.ts";
import type { InterpreterLanguage } from "./code-tasks.ts";
import { interpreterProgram } from "./interpreter-program.ts";
import type { ToolsState } from "./tools-state.ts";

/**
 * Creates an interpreter whose names stay defined between the calls of an episode. Each call runs a new program in the
 * sandbox. The program first repeats the episode's earlier code with hidden output, so no process must stay alive
 * between calls. The cost is that earlier code runs again. Code that a limit stopped is not repeated. The episode's
 * seed makes random numbers repeat as well.
 */
export function interpreterTool(options: {
  readonly language: InterpreterLanguage;
  /** Opens the sandbox, or shares the open one. */
  readonly sandbox: () => Promise<SharedResource<Sandbox>>;
  readonly cpuSeconds: number;
}): Tool {
  const { language, sandbox: openSandbox, cpuSeconds } = options;
  const earlier = new WeakMap<ToolsState, string[]>();
  return defineTool({
    description:
      `Runs ${languageNames[language]} code and returns its output and, like an interactive session, the value ` +
      "of its last expression. Names stay defined for later calls.",
    inputSchema: z.strictObject({ code: z.string().min(1).max(20_000) }),
    execute: async ({ code }, { state, signal }: ToolContext<ToolsState>) => {
      const cells = earlier.get(state) ?? [];
      await using sandbox = await openSandbox();
      const result = await sandbox.value.execute({
        language,
        ...interpreterProgram(language, [...cells, code]),
        task: { kind: "script", integrity: "inline" },
        limits: processorTime(cpuSeconds),
        seed: state.seed,
        signal,
      });
      signal.throwIfAborted();
      if (result.status === "infra_error") throw sandboxFailed(language, result);
      if (result.status !== "ok") throw new Error(`the code was stopped (${result.status}).${outputOf(result)}`);
      earlier.set(state, [...cells, code]);
      const error = result.cases[0]?.error;
      if (error !== undefined) throw new Error(`${error.type}: ${error.message}${outputOf(result)}`);
      return result.stdout.text.trimEnd();
    },
  });
}

function outputOf({ stdout }: ExecuteResult): string {
  const text = stdout.text.trimEnd();
  return text === "" ? "" : `\nOutput until then:\n${text}`;
}

function sandboxFailed(language: InterpreterLanguage, { error }: ExecuteResult): LyceumError {
  return new LyceumError({
    code: "sandbox.unavailable",
    message: `The sandbox failed to run ${languageNames[language]}: ${error?.message ?? "no reason is known"}`,
  });
}
