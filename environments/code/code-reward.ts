import type { CodeLevels } from "../shared/code-turns/code-levels.ts";
import type { CodeOptions } from "./code-options.ts";
import type { PairStructure } from "./structure/pair-structure.ts";

/** The inputs of a reward. */
export interface RewardFacts {
  readonly levels: CodeLevels;
  /** With two agents: how their code works together. */
  readonly pair?: PairStructure;
}

/** Returns the minimum and maximum reward of a preset. */
export function rewardRange({ reward, agents }: Pick<CodeOptions, "reward" | "agents">): readonly [number, number] {
  if (reward === "mrlm") return [-0.5, 2];
  if (reward === "comlrl") return [0, agents === 2 ? 4 : 2.1];
  return [0, 1];
}

/** Returns the reward components of an answer. Their sum is the reward. */
export function rewardComponents(preset: CodeOptions["reward"], facts: RewardFacts): Record<string, number> {
  if (preset === "mrlm") return mrlm(facts);
  return preset === "comlrl" ? comlrl(facts) : correctness(facts);
}

/**
 * Returns the components of `correctness`. More passing tests always give a higher reward. That is why the components
 * for the cooperation of two agents count only if every test passes. A passing test implies the components for syntax
 * and definition.
 */
function correctness({ levels, pair }: RewardFacts): Record<string, number> {
  const { syntax, definition, tests, passed } = levels;
  const base = { syntax: syntax ? 0.05 : 0, definition: definition ? 0.05 : 0 };
  if (pair === undefined) return { ...base, tests: 0.9 * tests };
  const { used, wrapper } = pair;
  return {
    ...base,
    tests: 0.8 * tests,
    auxUsed: passed && used ? 0.05 : 0,
    noWrapper: passed && used && !wrapper ? 0.05 : 0,
  };
}

/** Returns the components of `mrlm`: the share of passing tests, plus 1 if all pass, minus 0.5 if a test raises. */
function mrlm({ levels }: RewardFacts): Record<string, number> {
  const { tests, passed, raised } = levels;
  return { tests, bonus: passed ? 1 : 0, error: raised ? -0.5 : 0 };
}

/**
 * Returns the components of `comlrl`, level by level: the definitions of functions that return a value, the syntax of
 * the whole program, the tests and, if a test passes, how main uses aux. If main's function is missing or the program
 * does not parse, the later levels are 0.
 */
function comlrl({ levels, pair }: RewardFacts): Record<string, number> {
  if (pair === undefined) {
    const { definition, syntax, tests } = levels;
    return { definition: definition ? 0.6 : 0, syntax: definition && syntax ? 0.5 : 0, tests: definition ? tests : 0 };
  }
  const { aux, main, called, used, wrapper } = pair;
  const auxDefined = aux.defined && aux.returns;
  const mainDefined = main.defined && main.returns;
  const parses = mainDefined && levels.syntax;
  const tests = parses ? levels.tests : 0;
  const together = tests > 0 && auxDefined && called;
  return {
    auxDefinition: auxDefined ? 0.4 : 0,
    mainDefinition: mainDefined ? 0.6 : 0,
    syntax: parses ? 0.5 : 0,
    tests,
    auxCalled: together ? 0.5 : 0,
    noWrapper: together && !wrapper ? 1 : 0,
    auxIgnored: together && !used ? -0.5 : 0,
  };
}
