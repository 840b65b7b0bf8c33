export { type AlgorithmSubject, algorithmConformance } from "./algorithm-conformance.ts";
export { type BackendSubject, backendConformance } from "./backend-conformance.ts";
