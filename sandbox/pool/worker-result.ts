import { z } from "zod";
import type { Limits } from "../limits.ts";
import { isPlainValue } from "../plain-value-check.ts";
import { codeErrorSchema } from "./observation.ts";
import { caseCount } from "./requests.ts";
import type { Job, WorkerResult } from "./worker.ts";

const amount = z.number().min(0);
const output = z.object({ text: z.string(), bytes: z.number(), truncated: z.boolean() });
const statuses = ["ok", "load_error", "timeout_cpu", "timeout_wall", "memory", "output_limit", "result_limit"] as const;
const schema = z.object({
  status: z.enum([...statuses, "exited", "signal", "violation"]),
  cases: z.array(
    z.object({
      index: z.number(),
      outcome: z.enum(["returned", "raised", "unsupported", "missing"]),
      value: z.unknown().optional(),
      changedArgs: z.array(z.unknown()).optional(),
      error: codeErrorSchema.optional(),
      cpuMs: z.number(),
    }),
  ),
  error: codeErrorSchema.optional(),
  stdout: output,
  stderr: output,
  exit: z.object({ code: z.number().nullable(), signal: z.string().nullable() }),
  usage: z.object({ cpuMs: amount, wallMs: amount, peakRssKb: amount, swept: amount }),
  integrity: z.object({ nonceOk: z.boolean(), flags: z.array(z.string()) }),
});

/**
 * True if the message of a worker's process is a valid result of this job: each case once, in order, and with no
 * unexpected fields or types. A process that ran hostile code is trusted no further.
 */
export function checkResult(value: unknown, { request, limits }: Job): value is WorkerResult {
  const result = schema.safeParse(value).data;
  return result !== undefined && result.cases.length === caseCount(request.task) && keepsLimits(result, limits);
}

function keepsLimits({ status, cases, stdout, stderr }: z.output<typeof schema>, limits: Limits): boolean {
  return (
    stdout.text.length <= limits.outputBytes &&
    stderr.text.length <= limits.outputBytes &&
    cases.every(
      ({ index, outcome, value, changedArgs = [] }, place) =>
        index === place &&
        (status !== "ok" || outcome !== "missing") &&
        (value === undefined || isPlainValue(value, limits.depth)) &&
        changedArgs.every((arg) => isPlainValue(arg, limits.depth)),
    )
  );
}
