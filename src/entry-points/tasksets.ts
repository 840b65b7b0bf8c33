export { contentHash } from "../taskset/content-hash.ts";
export { checkDisjoint } from "../taskset/disjoint.ts";
export type { GeneratedTasksetOptions } from "../taskset/generated-taskset.ts";
export type { TasksetSpec } from "../taskset/load-taskset.ts";
export { mapTaskset } from "../taskset/map-taskset.ts";
export { memoryTaskset } from "../taskset/memory-taskset.ts";
