export { contentHash } from "../core/taskset/content-hash.ts";
export { checkDisjoint } from "../core/taskset/disjoint.ts";
export type { GeneratedTasksetOptions } from "../core/taskset/generated-taskset.ts";
export type { TasksetSpec } from "../core/taskset/load-taskset.ts";
export { mapTaskset } from "../core/taskset/map-taskset.ts";
export { memoryTaskset } from "../core/taskset/memory-taskset.ts";
