import type { Random } from "../../src/core/random/random.ts";
import { callMessage } from "../../src/core/tools/call-message.ts";
import { answerText, type TaskGenerator } from "./tools-task.ts";

/** The languages with an interpreter. */
export type InterpreterLanguage = "python" | "javascript";

/** Returns a generator of questions that a short program answers in the language's interpreter. */
export function codeTask(language: InterpreterLanguage): TaskGenerator {
  return (random) => {
    const { question, answer, python, javascript } = random.pick(problems)(random);
    return {
      kind: "code",
      question,
      answer: String(answer),
      tools: [language],
      solution: [
        callMessage([language, { code: language === "python" ? python : javascript }]),
        answerText(String(answer)),
      ],
    };
  };
}

interface Problem {
  readonly question: string;
  readonly answer: number;
  readonly python: string;
  readonly javascript: string;
}

const problems: readonly ((random: Random) => Problem)[] = [nthPrime, multiples, longestCollatz, powerDigits];

function nthPrime(random: Random): Problem {
  const n = random.integer(500, 2_500);
  const primes: number[] = [];
  for (let k = 2; primes.length < n; k++) if (isPrime(k, primes)) primes.push(k);
  return {
    question: `Counting 2 as the first, which number is prime number ${n}?`,
    answer: primes.at(-1)!,
    python: `primes = []\nk = 2\nwhile len(primes) < ${n}:\n    r = int(k ** 0.5)\n    ok = True\n    for p in primes:\n        if p > r:\n            break\n        if k % p == 0:\n            ok = False\n            break\n    if ok:\n        primes.append(k)\n    k += 1\nprimes[-1]`,
    javascript: `const primes = [];\nfor (let k = 2; primes.length < ${n}; k++) {\n  const r = Math.sqrt(k);\n  let ok = true;\n  for (const p of primes) {\n    if (p > r) break;\n    if (k % p === 0) { ok = false; break; }\n  }\n  if (ok) primes.push(k);\n}\nprimes.at(-1)`,
  };
}

function isPrime(k: number, smaller: readonly number[]): boolean {
  const root = Math.sqrt(k);
  for (const p of smaller) {
    if (p > root) return true;
    if (k % p === 0) return false;
  }
  return true;
}

function multiples(random: Random): Problem {
  const limit = random.integer(20_000, 90_000);
  const [a, b] = [random.integer(3, 9), random.integer(11, 19)];
  const digit = random.integer(1, 9);
  let answer = 0;
  for (let n = 1; n <= limit; n++) {
    if ((n % a === 0 || n % b === 0) && !String(n).includes(String(digit))) answer += n;
  }
  return {
    question: `What is the sum of the whole numbers from 1 to ${limit} that ${a} or ${b} divides and that have no digit ${digit}?`,
    answer,
    python: `sum(n for n in range(1, ${limit} + 1) if (n % ${a} == 0 or n % ${b} == 0) and "${digit}" not in str(n))`,
    javascript: `let sum = 0;\nfor (let n = 1; n <= ${limit}; n++) {\n  if ((n % ${a} === 0 || n % ${b} === 0) && !String(n).includes("${digit}")) sum += n;\n}\nsum`,
  };
}

function longestCollatz(random: Random): Problem {
  const first = random.integer(10_000, 900_000);
  const last = first + 200;
  let answer = 0;
  for (let n = first; n <= last; n++) answer += collatzSteps(n);
  return {
    question: `Halve an even number; triple an odd one and add 1; stop at 1. How many such steps do all numbers from ${first} to ${last} take together?`,
    answer,
    python: `total = 0\nfor n in range(${first}, ${last} + 1):\n    while n != 1:\n        n = n // 2 if n % 2 == 0 else 3 * n + 1\n        total += 1\ntotal`,
    javascript: `let total = 0;\nfor (let i = ${first}; i <= ${last}; i++) {\n  for (let n = i; n !== 1; total++) n = n % 2 === 0 ? n / 2 : 3 * n + 1;\n}\ntotal`,
  };
}

function collatzSteps(n: number): number {
  let steps = 0;
  for (let k = n; k !== 1; steps++) k = k % 2 === 0 ? k / 2 : 3 * k + 1;
  return steps;
}

function powerDigits(random: Random): Problem {
  const [base, exponent] = [random.integer(3, 97), random.integer(150, 900)];
  let answer = 0;
  for (const [index, digit] of [...String(BigInt(base) ** BigInt(exponent))].entries()) {
    answer += (index + 1) * Number(digit);
  }
  return {
    question: `Write ${base}^${exponent} in decimal, multiply each digit by its place from the left (the first is 1), and add the products. What is the sum?`,
    answer,
    python: `sum(i * int(d) for i, d in enumerate(str(${base} ** ${exponent}), 1))`,
    javascript: `[...String(${base}n ** ${exponent}n)].reduce((sum, d, i) => sum + (i + 1) * Number(d), 0)`,
  };
}
