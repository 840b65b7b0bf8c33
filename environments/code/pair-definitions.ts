import type { CodeError, Language } from "../../sandbox/execution.ts";
import type { Limits } from "../../sandbox/limits.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { errorText, type TurnReport } from "../shared/code-turns/code-feedback.ts";
import { joinSource } from "../shared/code-turns/join-source.ts";
import { loadAlone } from "../shared/code-turns/load-alone.ts";
import { programProblem } from "../shared/code-turns/program-problem.ts";
import { type AgentStructure, auxName, type PairStructure } from "./structure/pair-structure.ts";

/** What the stub of aux raises: code that calls aux while it is loaded cannot be judged alone. */
const stubError = "aux was called while main was loaded alone";

/** What stands for aux when main is loaded alone. */
const auxStubs: Readonly<Record<Language, string>> = {
  python: `def ${auxName}(*args, **kwargs):\n    raise RuntimeError("${stubError}")\n`,
  javascript: `function ${auxName}() { throw new Error("${stubError}"); }\n`,
  typescript: `function ${auxName}(...args: any[]): any { throw new Error("${stubError}"); }\n`,
};

/** The part of a report on definitions, for each agent. */
type Definitions = Pick<TurnReport, "definitions" | "programProblem">;

/**
 * Which functions are defined, each judged in its own agent's program: the mistakes of one agent never count against
 * the other. If the program of both does not load, each agent's code that parses is loaded alone, main's with a stub
 * for aux: a main that fails only because it calls the stub counts as defined. The reason of a missing definition is for its own agent only. Rejects with the signal's reason.
 */
export async function pairDefinitions(options: {
  readonly sandbox: Sandbox;
  readonly language: Language;
  /** What the prompt defines before the function. */
  readonly helpers: string;
  readonly code: { readonly aux: string; readonly main: string };
  readonly entryPoint: string;
  readonly pair: PairStructure;
  /** Why the program of both does not load, if it does not. */
  readonly loadError: CodeError | undefined;
  readonly limits: Partial<Limits> | undefined;
  readonly seed: number;
  readonly signal?: AbortSignal;
}): Promise<{ readonly aux: Definitions; readonly main: Definitions }> {
  const { sandbox, language, helpers, code, entryPoint, pair, loadError, limits, seed, signal } = options;
  const judge = async (name: string, structure: AgentStructure, parts: readonly string[]) => {
    const { problem: unparsed, defined } = structure;
    if (loadError === undefined || unparsed !== undefined) return { name, found: defined };
    const { source, linesBefore } = joinSource(language, parts);
    const alone = await loadAlone({
      ...{ sandbox, language, source, name, seed },
      ...(limits === undefined ? {} : { limits }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (alone?.loads !== false || alone.error.message.includes(stubError)) return { name, found: defined };
    return { name, found: false, problem: errorText(alone.error, linesBefore.at(-1)!) };
  };
  const [aux, main] = await Promise.all([
    judge(auxName, pair.aux, [helpers, code.aux]),
    judge(entryPoint, pair.main, [helpers, auxStubs[language], code.main]),
  ]);
  const of = (own: typeof aux, other: typeof aux): Definitions => ({
    definitions: [aux, main].map((one) => (one === own ? one : { name: one.name, found: one.found })),
    programProblem: programProblem(loadError, { ownLoads: own.found, allLoad: own.found && other.found }),
  });
  return { aux: of(aux, main), main: of(main, aux) };
}
