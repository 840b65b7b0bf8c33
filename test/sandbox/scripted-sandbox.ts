import type { CaseObservation, ExecuteRequest, ExecuteResult } from "../../sandbox/execution.ts";
import { caseCount } from "../../sandbox/pool/requests.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

/**
 * A sandbox that returns what a test defines, whether it is true or not. For results that no honest sandbox returns.
 */
export interface ScriptedSandbox extends Sandbox {
  readonly requests: ExecuteRequest[];
}

/** Answers each request with the result of `script`, completed with the fields of a successful run. */
export function scriptedSandbox(
  script: (request: ExecuteRequest) => Partial<ExecuteResult> | Promise<Partial<ExecuteResult>>,
): ScriptedSandbox {
  const requests: ExecuteRequest[] = [];
  const nothing = { text: "", bytes: 0, truncated: false };
  return {
    specificationVersion: "v1",
    requests,
    info: { backend: "docker", languages: ["python", "javascript"], version: "0", packages: [] },
    execute: async (request) => {
      requests.push(request);
      const cases = Array.from({ length: caseCount(request.task) }, (_, index) => returned(index));
      return {
        id: request.id ?? "scripted",
        status: "ok",
        cases,
        stdout: nothing,
        stderr: nothing,
        exit: { code: 0, signal: null },
        usage: { cpuMs: 1, wallMs: 1, queueMs: 0, peakRssKb: 0, swept: 0 },
        worker: { id: "scripted", generation: 0, jobs: 1 },
        attempts: 1,
        integrity: { nonceOk: true, flags: [] },
        ...(await script(request)),
      };
    },
    warmUp: async () => undefined,
    stats: () => ({ executions: 0, byStatus: {}, workersStarted: 0, workersKilled: 0, waiting: 0, running: 0 }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** An observation of a case that returned a value, None by default. */
export function returned(index: number, value: CaseObservation["value"] = null): CaseObservation {
  return { index, outcome: "returned", value, cpuMs: 0 };
}
