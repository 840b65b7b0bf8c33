import { describe, expect, test } from "vitest";
import { arithmeticGenerator, arithmeticOperations } from "../../../environments/math/arithmetic.ts";
import { equationGenerator } from "../../../environments/math/equations.ts";
import { type MathProblem, mathTask, type ProblemGenerator } from "../../../environments/math/math-problem.ts";
import { multiStepGenerator } from "../../../environments/math/multi-step.ts";
import { addRationals, formatRational, type Rational, rational } from "../../../environments/math/rational.ts";
import { verifyAnswer } from "../../../environments/math/verify-answer.ts";
import { wordProblemGenerator } from "../../../environments/math/word-problems.ts";
import { createRandom, deriveSeed } from "../../../src/core/random/random.ts";
import { evaluate, holds } from "./evaluate.ts";

const levels = [1, 2, 3, 4, 5];

function problems(generate: ProblemGenerator, difficulty: number, count = 150): MathProblem[] {
  return Array.from({ length: count }, (_, i) => generate(createRandom(deriveSeed(difficulty, i)), difficulty));
}

const all: readonly (readonly [string, ProblemGenerator])[] = [
  ...arithmeticOperations.map((operation) => [operation, arithmeticGenerator({ operations: [operation] })] as const),
  ["equations", equationGenerator],
  ["word problems", wordProblemGenerator],
  ["multi-step", multiStepGenerator],
];

describe.each(all)("%s", (_name, generate) => {
  test.each(levels)("every demonstration of difficulty %i is right, in both forms", (difficulty) => {
    for (const problem of problems(generate, difficulty)) {
      for (const task of [mathTask(problem, false), mathTask(problem, true)]) {
        expect(verifyAnswer(task.solution, task.answer), task.question).toMatchObject({ correct: true });
      }
      expect(problem).toMatchObject({ difficulty, answer: expect.stringMatching(/\d$/) });
    }
  });

  test("no question contains its answer", () => {
    for (const difficulty of levels) {
      const told = problems(generate, difficulty).filter(
        ({ question, answer }) => verifyAnswer(question, answer).correct,
      );
      expect(told.length).toBeLessThan(15);
    }
  });

  test("a problem depends only on its random numbers, and others give other problems", () => {
    expect(problems(generate, 3, 20)).toEqual(problems(generate, 3, 20));
    expect(new Set(problems(generate, 3, 200).map(({ terse }) => terse)).size).toBeGreaterThan(150);
  });

  test("higher difficulties have longer solutions or larger numbers", () => {
    const size = (difficulty: number): number =>
      problems(generate, difficulty).reduce((sum, { terse, steps }) => sum + terse.length + steps.join().length, 0);
    const sizes = [1, 3, 5].map(size);
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
  });
});

describe("arithmetic", () => {
  test.each(levels)("answers and steps of difficulty %i are the values of the expressions", (difficulty) => {
    for (const operation of arithmeticOperations) {
      for (const { kind, question, terse, steps, answer } of problems(
        arithmeticGenerator({ operations: [operation] }),
        difficulty,
      )) {
        expect(kind).toBe(operation);
        expect(formatRational(evaluate(terse.slice(0, -1)))).toBe(answer);
        expect(question.replaceAll(" ", "")).toContain(terse.slice(0, -1));
        for (const step of steps) expect(holds(step), step).toBe(true);
        expect(steps.at(-1)).toMatch(new RegExp(`= ${answer}$`));
        if (operation !== "chain" && difficulty < 3) expect(answer).not.toContain("-");
      }
    }
  });

  test("numbers have the requested digits, up to twelve, and are exact", () => {
    const generate = arithmeticGenerator({ operations: ["multiplication"], digits: [12, 12] });
    for (const { terse, answer } of problems(generate, 1, 50)) {
      const [left, right] = terse.slice(0, -1).split("*") as [string, string];
      expect([left.length, right.length]).toEqual([12, 12]);
      expect(BigInt(left) * BigInt(right)).toBe(BigInt(answer));
    }
    const lengths = problems(arithmeticGenerator({ operations: ["addition"], digits: [2, 3] }), 5, 200).flatMap(
      ({ terse }) =>
        terse
          .slice(0, -1)
          .split("+")
          .map(({ length }) => length),
    );
    expect(new Set(lengths)).toEqual(new Set([2, 3]));
  });

  test("only the requested operations occur", () => {
    const kinds = problems(arithmeticGenerator({ operations: ["addition", "division"] }), 2).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(["addition", "division"]));
  });

  test("divisions have no remainder, and no divisor is 0", () => {
    for (const { terse } of problems(arithmeticGenerator({ operations: ["division"] }), 2, 500)) {
      const [left, right] = terse.slice(0, -1).split("/").map(BigInt) as [bigint, bigint];
      expect(left % right).toBe(0n);
    }
  });
});

describe("equations", () => {
  const statementOf = ({ question }: MathProblem): string => /: (.*)$/.exec(question)![1]!;
  const variableOf = (problem: MathProblem): string => /for ([a-z]):/.exec(problem.question)![1]!;

  test.each(levels)("the solutions of difficulty %i solve them, and so does every step", (difficulty) => {
    for (const problem of problems(equationGenerator, difficulty, 200)) {
      const variable = variableOf(problem);
      const statement = statementOf(problem);
      expect(problem.terse).toBe(`${statement.replaceAll(" ", "")}:`);
      if (problem.kind === "equation") {
        const solution = evaluate(problem.answer);
        for (const line of [statement, ...problem.steps])
          expect(holds(line, { [variable]: solution }), line).toBe(true);
        expect(holds(statement, { [variable]: addRationals(solution, rational(1)) })).toBe(false);
        if (difficulty < 4) expect(problem.answer).not.toContain("/");
      } else {
        const bound = evaluate(/[<>]=? (.*)$/.exec(problem.answer)![1]!);
        const points: Rational[] = [rational(-1, 7), rational(0), rational(1, 7)].map((offset) =>
          addRationals(bound, offset),
        );
        for (const point of points) {
          const truth = holds(statement, { [variable]: point });
          for (const line of [...problem.steps, problem.answer])
            expect(holds(line, { [variable]: point }), `${statement} | ${line}`).toBe(truth);
        }
      }
    }
  });

  test("equations and inequalities occur, with all relations and, at high difficulty, with fractions", () => {
    const hard = problems(equationGenerator, 4);
    expect(new Set(hard.map(({ kind }) => kind))).toEqual(new Set(["equation", "inequality"]));
    expect(new Set(hard.map((problem) => /<=|>=|<|>|=/.exec(statementOf(problem))![0]))).toEqual(
      new Set(["=", "<", "<=", ">", ">="]),
    );
    expect(hard.some(({ kind, answer }) => kind === "equation" && answer.includes("/"))).toBe(true);
  });
});

test("multi-step definitions evaluate to the answer, and stay small", () => {
  for (const difficulty of levels) {
    for (const { question, terse, steps, answer } of problems(multiStepGenerator, difficulty)) {
      const [, definitions, asked] = /^Let (.*)\. What is ([a-h])\?$/.exec(question)! as unknown as [
        string,
        string,
        string,
      ];
      const values: Record<string, Rational> = {};
      for (const definition of definitions.split(", ")) {
        const [name, expression] = definition.split(" = ") as [string, string];
        values[name] = evaluate(expression, values);
      }
      expect(Object.keys(values)).toHaveLength(difficulty + 2);
      expect(formatRational(values[asked]!)).toBe(answer);
      expect(terse.endsWith(`,${asked}=`)).toBe(true);
      for (const step of steps.slice(1)) expect(holds(step.slice(4)), step).toBe(true);
      expect(Math.abs(Number(answer))).toBeLessThan(10_000);
    }
  }
});

test("word problems: every step is true, uses numbers of the story or of earlier steps, and the last gives the answer", () => {
  for (const difficulty of levels) {
    for (const { question, steps, answer } of problems(wordProblemGenerator, difficulty, 300)) {
      const known = new Set(question.match(/\d+/g));
      for (const step of steps) {
        expect(holds(step), step).toBe(true);
        const [left, result] = step.split(" = ") as [string, string];
        for (const number of left.match(/\d+/g)!) expect(known, `${question} | ${step}`).toContain(number);
        known.add(result);
      }
      expect(steps.at(-1)!.split(" = ")[1]).toBe(answer);
      expect(Number(answer)).toBeGreaterThanOrEqual(0);
      expect(steps.length).toBeGreaterThanOrEqual(difficulty === 1 ? 1 : 2);
      expect(question).not.toMatch(/undefined|NaN|\b[01] (?!\d)[a-z]/);
    }
  }
});
