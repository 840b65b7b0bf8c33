import { randomBytes } from "node:crypto";
import { match } from "ts-pattern";
import type { Job } from "../pool/worker.ts";

/** One forked process of a job. A judge and its candidate are two parts. */
export interface JobPart {
  readonly role: "calls" | "program" | "judge";
  /** The nonce of the process whose messages count. */
  readonly nonce: string;
  /** The nonce of a judge's candidate. Its only message is why it could not be loaded. */
  readonly candidateNonce?: string;
  /** The indices of the cases that the process runs, in order. */
  readonly indices: readonly number[];
  /** The message to the runner. */
  readonly message: Readonly<Record<string, unknown>>;
}

/** Returns the processes of a job in the order in which they run. */
export function jobParts(job: Job): JobPart[] {
  const { files, entry, task } = job.request;
  const { depth, resultBytes } = job.limits;
  const code = { files, entry, seed: job.seed, depth, resultBytes };
  return match(task)
    .with({ kind: "calls" }, (calls): JobPart[] => {
      const cases = calls.cases.map(({ args, kwargs }, index) => [index, JSON.stringify({ args, kwargs })] as const);
      const groups = calls.isolate === "case" && cases.length > 0 ? cases.map((each) => [each]) : [cases];
      return groups.map((group) => {
        const nonce = newNonce();
        const payload = JSON.stringify({ ...code, nonce, function: calls.function });
        // The code is loaded before its process receives the cases.
        const message = { role: "calls", payload, cases: JSON.stringify(group) };
        return { role: "calls", nonce, indices: group.map(([index]) => index), message };
      });
    })
    .with({ kind: "program" }, ({ stdin }) => stdin.map((text, index) => programPart(code, text, index)))
    .with({ kind: "script" }, ({ stdin = "" }) => [programPart(code, stdin, 0)])
    .with({ kind: "judge" }, ({ setup = "", tests, exports }): JobPart[] => {
      const nonce = newNonce();
      const candidateNonce = newNonce();
      const payload = JSON.stringify({ ...code, nonce: candidateNonce });
      const judge = JSON.stringify({ nonce, setup, tests, exports, seed: job.seed, resultBytes });
      const message = { role: "judge", payload, judge };
      return [{ role: "judge", nonce, candidateNonce, indices: tests.map((_, i) => i), message }];
    })
    .exhaustive();
}

function programPart(code: Readonly<Record<string, unknown>>, stdin: string, index: number): JobPart {
  const nonce = newNonce();
  const payload = JSON.stringify({ ...code, nonce, index });
  return { role: "program", nonce, indices: [index], message: { role: "program", payload, stdin } };
}

function newNonce(): string {
  return randomBytes(16).toString("hex");
}
