import type { CodeLevels } from "../shared/code-turns/code-levels.ts";
import type { CodeOptions } from "./code-options.ts";
import type { PairStructure } from "./structure/pair-structure.ts";

/** What a reward is made from. */
export interface RewardFacts {
  readonly levels: CodeLevels;
  /** Of two agents. */
  readonly pair?: PairStructure;
}

/** The least and greatest reward of a preset. */
export function rewardRange({ reward, agents }: Pick<CodeOptions, "reward" | "agents">): readonly [number, number] {
  if (reward === "mrlm") return [-0.5, 2];
  if (reward === "comlrl") return [0, agents === 2 ? 4 : 2.1];
  return [0, 1];
}

/** What an answer is worth, by name; the sum is the reward. */
export function rewardComponents(preset: CodeOptions["reward"], facts: RewardFacts): Record<string, number> {
  if (preset === "mrlm") return mrlm(facts);
  return preset === "comlrl" ? comlrl(facts) : correctness(facts);
}

/**
 * Tests outweigh the rest: whoever passes more of them earns more, whatever else. That is why how two agents work
 * together counts only where every test passes; what is parsed and defined follows from a test that passes.
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

/** MRLM's: the share of tests, 1 more where all pass, 0.5 less where one raises. */
function mrlm({ levels }: RewardFacts): Record<string, number> {
  const { tests, passed, raised } = levels;
  return { tests, bonus: passed ? 1 : 0, error: raised ? -0.5 : 0 };
}

/**
 * CoMLRL's, level by level: the definitions, of functions that return something; the syntax of the whole program;
 * tests, and with one that passes, how main uses aux. Without main's function, or where the program does not parse,
 * nothing more is earned.
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
