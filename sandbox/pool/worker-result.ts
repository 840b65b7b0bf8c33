import type { CaseObservation, CodeError } from "../execution.ts";
import { isPlainValue } from "../plain-value-check.ts";
import { caseCount } from "./requests.ts";
import type { Job, WorkerResult } from "./worker.ts";

const statuses = ["ok", "load_error", "timeout_cpu", "timeout_wall", "memory", "output_limit", "result_limit"];
const allStatuses: readonly unknown[] = [...statuses, "exited", "signal", "violation"];
const outcomes: readonly unknown[] = ["returned", "raised", "unsupported", "missing"];

/**
 * True if the message of a worker's process is a valid result of this job: each case once, in order, and with no
 * unexpected fields or types. A process that ran hostile code is trusted no further.
 */
export function checkResult(value: unknown, { request, limits }: Job): value is WorkerResult {
  if (!isRecord(value) || !allStatuses.includes(value.status)) return false;
  const { cases, error, stdout, stderr, exit, usage, integrity } = value;
  const isCase = (item: unknown, index: number): boolean => isObservation(item, index, limits.depth);
  if (!Array.isArray(cases) || cases.length !== caseCount(request.task) || !cases.every(isCase)) return false;
  const isMissing = ({ outcome }: CaseObservation): boolean => outcome === "missing";
  if (value.status === "ok" && (cases as CaseObservation[]).some(isMissing)) return false;
  if (error !== undefined && !isCodeError(error)) return false;
  if (!isOutput(stdout, limits.outputBytes) || !isOutput(stderr, limits.outputBytes)) return false;
  if (!isRecord(exit) || !isRecord(integrity) || !isRecord(usage)) return false;
  const numbers = [usage.cpuMs, usage.wallMs, usage.peakRssKb, usage.swept];
  const { code, signal } = exit;
  return (
    numbers.every((number) => typeof number === "number" && number >= 0) &&
    (code === null || typeof code === "number") &&
    (signal === null || typeof signal === "string") &&
    typeof integrity.nonceOk === "boolean" &&
    Array.isArray(integrity.flags) &&
    integrity.flags.every((flag) => typeof flag === "string")
  );
}

function isObservation(value: unknown, index: number, depth: number): boolean {
  if (!isRecord(value) || value.index !== index || !outcomes.includes(value.outcome)) return false;
  const { value: returned, changedArgs, error, cpuMs } = value;
  return (
    typeof cpuMs === "number" &&
    (returned === undefined || isPlainValue(returned, depth)) &&
    (changedArgs === undefined ||
      (Array.isArray(changedArgs) && changedArgs.every((arg) => isPlainValue(arg, depth)))) &&
    (error === undefined || isCodeError(error))
  );
}

function isCodeError(value: unknown): value is CodeError {
  if (!isRecord(value) || typeof value.type !== "string" || typeof value.message !== "string") return false;
  return value.line === undefined || typeof value.line === "number";
}

function isOutput(value: unknown, limit: number): boolean {
  if (!isRecord(value) || typeof value.text !== "string") return false;
  // The replacement of a character that was cut in two may be longer than its bytes.
  return value.text.length <= limit && typeof value.bytes === "number" && typeof value.truncated === "boolean";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
