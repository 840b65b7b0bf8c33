import type { CodeError, Language } from "../../sandbox/execution.ts";
import type { Limits } from "../../sandbox/limits.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { errorText, type TurnReport } from "../shared/code-turns/code-feedback.ts";
import { joinSource } from "../shared/code-turns/join-source.ts";
import { loadAlone } from "../shared/code-turns/load-alone.ts";
import { programProblem } from "../shared/code-turns/program-problem.ts";
import { type AgentStructure, auxName, type PairStructure } from "./structure/pair-structure.ts";

/** The error of the aux stub. Code that calls aux while it loads cannot be checked alone. */
const stubError = "aux was called while main was loaded alone";

/** The stubs of aux for loading main alone. */
const auxStubs: Readonly<Record<Language, string>> = {
  python: `def ${auxName}(*args, **kwargs):\n    raise RuntimeError("${stubError}")\n`,
  javascript: `function ${auxName}() { throw new Error("${stubError}"); }\n`,
  typescript: `function ${auxName}(...args: any[]): any { throw new Error("${stubError}"); }\n`,
};

/** The part of a report that describes definitions, for each agent. */
type Definitions = Pick<TurnReport, "definitions" | "programProblem">;

/**
 * Finds the defined functions, each in its own agent's program, so that an agent's mistakes never count against the
 * other agent. If the joint program does not load, loads each agent's code that parses alone, and main's with a stub
 * for aux. If main fails only because it calls the stub, it counts as defined. Only the agent itself gets the reason of
 * its missing definition. Rejects with the signal's reason.
 */
export async function pairDefinitions(options: {
  readonly sandbox: Sandbox;
  readonly language: Language;
  /** The definitions before the function in the prompt. */
  readonly helpers: string;
  readonly code: { readonly aux: string; readonly main: string };
  readonly entryPoint: string;
  readonly pair: PairStructure;
  /** The load error of the joint program, if any. */
  readonly loadError: CodeError | undefined;
  readonly limits: Partial<Limits> | undefined;
  readonly seed: number;
  readonly signal?: AbortSignal;
}): Promise<{ readonly aux: Definitions; readonly main: Definitions }> {
  const { sandbox, language, helpers, code, entryPoint, pair, loadError, limits, seed, signal } = options;
  const check = async (name: string, structure: AgentStructure, parts: readonly string[]) => {
    const { problem: unparsed, defined } = structure;
    if (loadError === undefined || unparsed !== undefined) return { name, found: defined };
    const { source, linesBefore } = joinSource(language, parts);
    const alone = await loadAlone({ sandbox, language, source, name, seed, limits, signal });
    if (alone?.loads !== false || alone.error.message.includes(stubError)) return { name, found: defined };
    return { name, found: false, problem: errorText(alone.error, linesBefore.at(-1)!) };
  };
  const [aux, main] = await Promise.all([
    check(auxName, pair.aux, [helpers, code.aux]),
    check(entryPoint, pair.main, [helpers, auxStubs[language], code.main]),
  ]);
  const of = (own: typeof aux, other: typeof aux): Definitions => ({
    definitions: [aux, main].map((one) => (one === own ? one : { name: one.name, found: one.found })),
    programProblem: programProblem(loadError, { ownLoads: own.found, allLoad: own.found && other.found }),
  });
  return { aux: of(aux, main), main: of(main, aux) };
}
