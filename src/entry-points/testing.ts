export type { ConformanceCase } from "../core/conformance-case.ts";
export {
  type CheckOptions,
  checkEnvironment,
  type EnvironmentProblem,
  type EnvironmentReport,
} from "../testing/check-environment.ts";
export {
  type ModelAnswer,
  type ModelPolicySubject,
  type ModelRequest,
  modelPolicyConformance,
  type OpenModelPolicy,
} from "../testing/model-policy-conformance.ts";
export { type PolicySubject, policyConformance } from "../testing/policy-conformance.ts";
export { rendererConformance } from "../testing/renderer-conformance.ts";
export { type SamplerSubject, samplerConformance } from "../testing/sampler-conformance.ts";
export { tasksetConformance } from "../testing/taskset-conformance.ts";
export { tokenizerConformance } from "../testing/tokenizer-conformance.ts";
export { type TrackerSubject, trackerConformance } from "../testing/tracker-conformance.ts";
