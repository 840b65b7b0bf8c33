import { LyceumError, toErrorData } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import type { AgentRecorder } from "./agent-recorder.ts";

/** Converts an error of a policy to a typed error. `asked` names the request. Returns Lyceum errors unchanged. */
export function policyFailure(policy: Policy, asked: string, error: unknown): LyceumError {
  if (LyceumError.isInstance(error)) return error;
  const { name, message } = toErrorData(error);
  const what = error instanceof Error ? `${name}: ${message}` : message;
  return new LyceumError({
    code: "policy.failed",
    message: `Policy "${policy.name}" failed at ${asked}: ${what}`,
    hint: "This is an error in the policy or in the model behind it, not in the environment.",
    cause: error,
  });
}

/** Creates the error of an environment's call that took too long. */
export function callTimeout(environment: string, call: string, ms: number): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `Environment "${environment}" did not end its ${call} within ${ms} ms.`,
    hint: "The instance has been abandoned and replaced. If it only needs longer, raise the limit (rollout.limits.environmentSeconds in a config, environmentMs in code).",
    data: { environment, call, ms },
  });
}

/** Creates the error of policies that did not answer in time. */
export function actTimeout(acting: readonly AgentRecorder[], ms: number): LyceumError {
  const asked = acting.map(({ agent, policy }) => `"${policy.name}" for agent "${agent}"`).join(", ");
  return new LyceumError({
    code: "timeout",
    message: `No action came within ${ms} ms from ${asked}.`,
    hint: "If the policy only needs longer, raise the limit (rollout.limits.actSeconds in a config, actMs in code).",
    data: { agents: acting.map(({ agent }) => agent), ms },
  });
}
