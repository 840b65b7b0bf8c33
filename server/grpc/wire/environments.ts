import type { MessageInitShape } from "@bufbuild/protobuf";
import type { EnvironmentSpec } from "../../../src/contract/environment.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";
import type { ServedEnvironment, ServedTask } from "../../session/environment-runner.ts";
import type {
  EnvironmentInfo,
  EnvironmentInfoSchema,
  EnvironmentSpecSchema,
  TaskInfo,
  TaskInfoSchema,
  EnvironmentSpec as WireSpec,
} from "../generated/lyceum/v1/environment_pb.ts";
import { fromWireTools, toWireTools } from "./observations.ts";

/** Returns the description of an environment in its wire form. */
export function toWireEnvironment(environment: ServedEnvironment): MessageInitShape<typeof EnvironmentInfoSchema> {
  const { name, spec, splits, version, scoresGroups } = environment;
  return {
    environmentId: name,
    spec: toWireSpec(spec),
    splits: splits.map((split) => ({
      name: split.name,
      length: split.length === "unbounded" ? undefined : BigInt(split.length),
    })),
    version,
    scoresGroups,
  };
}

/** Returns the description of an environment. Undefined if the wire form has no spec. */
export function fromWireEnvironment(info: EnvironmentInfo): ServedEnvironment | undefined {
  const { environmentId: name, spec, splits, version, scoresGroups } = info;
  if (spec === undefined) return undefined;
  return {
    name,
    spec: fromWireSpec(spec),
    splits: splits.map((split) => ({
      name: split.name,
      length: split.length === undefined ? "unbounded" : Number(split.length),
    })),
    ...withoutUndefined({ version }),
    ...(scoresGroups ? { scoresGroups } : {}),
  };
}

/** Returns a task in its wire form. */
export function toWireTask({ index, ...task }: ServedTask): MessageInitShape<typeof TaskInfoSchema> {
  return { ...task, index: BigInt(index) };
}

/** Returns the task of a wire form. */
export function fromWireTask({ split, index, id, hash }: TaskInfo): ServedTask {
  return { split, index: Number(index), id, hash };
}

function toWireSpec(spec: EnvironmentSpec): MessageInitShape<typeof EnvironmentSpecSchema> {
  const { id, agents, maxTurns, rewardRange, deterministic, tools, description, statesCorrect, environments } = spec;
  return {
    id,
    deterministic,
    description,
    statesCorrect,
    agents: [...agents],
    maxTurns: BigInt(Math.min(maxTurns, Number.MAX_SAFE_INTEGER)),
    minReward: rewardRange[0],
    maxReward: rewardRange[1],
    tools: toWireTools(tools),
    environments: Object.fromEntries(
      Object.entries(environments ?? {}).map(([name, each]) => [name, toWireSpec(each)]),
    ),
  };
}

function fromWireSpec(spec: WireSpec): EnvironmentSpec {
  const { id, agents, maxTurns, minReward, maxReward, deterministic, tools, environments } = spec;
  const { description, statesCorrect } = spec;
  const parts = Object.entries(environments);
  return {
    id,
    agents,
    deterministic,
    maxTurns: Number(maxTurns),
    rewardRange: [minReward, maxReward],
    ...fromWireTools(tools),
    ...withoutUndefined({ description, statesCorrect }),
    ...(parts.length === 0
      ? {}
      : { environments: Object.fromEntries(parts.map(([name, each]) => [name, fromWireSpec(each)])) }),
  };
}
