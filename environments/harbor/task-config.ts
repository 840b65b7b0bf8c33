import { parse } from "smol-toml";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** The newest schema version of `task.toml` that this reader knows. */
const harborSchemaVersion = "1.4";

const variables = z.record(z.string(), z.string()).default({});
const user = z.union([z.string(), z.int()]).transform(String).optional();
const networkMode = z.enum(["no-network", "public", "allowlist"]).optional();
const seconds = z.number().positive();

const schema = z.object({
  schema_version: z.string().default(harborSchemaVersion),
  steps: z.array(z.unknown()).max(0, "Tasks of several steps are not supported").optional(),
  agent: z.object({ timeout_sec: seconds.optional(), user, network_mode: networkMode }).prefault({}),
  verifier: z
    .object({
      timeout_sec: seconds.default(600),
      user,
      env: variables,
      network_mode: networkMode,
      environment: z.undefined("An image of its own for the verifier is not supported").optional(),
      collect: z.array(z.unknown()).max(0, "Commands before the verifier are not supported").optional(),
    })
    .prefault({}),
  environment: z
    .object({
      build_timeout_sec: seconds.default(600),
      docker_image: z.string().optional(),
      os: z.string().toLowerCase().pipe(z.literal("linux", "Only Linux is supported")).default("linux"),
      cpus: z.number().positive().default(1),
      memory_mb: z.int().min(16).optional(),
      memory: z.string().optional(),
      storage_mb: z.int().positive().optional(),
      storage: z.string().optional(),
      gpus: z.literal(0, "GPUs are not supported").optional(),
      tpu: z.undefined("TPUs are not supported").optional(),
      env: variables,
      workdir: z.string().optional(),
      network_mode: networkMode,
      allow_internet: z.boolean().optional(),
    })
    .prefault({}),
  solution: z.object({ env: variables }).prefault({}),
});

/** What a task's `task.toml` asks for. Keys that concern a registry or a viewer are left out. */
export interface HarborConfig {
  readonly agent: HarborPhase & { readonly seconds?: number | undefined };
  readonly verifier: HarborPhase & { readonly seconds: number; readonly environment: Readonly<Record<string, string>> };
  readonly image?: string | undefined;
  readonly buildSeconds: number;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly storageMb: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly folder?: string | undefined;
  readonly solutionEnvironment: Readonly<Record<string, string>>;
}

/** One phase of an episode. */
interface HarborPhase {
  readonly user?: string | undefined;
  /** True if the task asks for the network. */
  readonly network: boolean;
}

/**
 * Reads a `task.toml`. Throws `data.malformed` for what is wrong, and for what is not supported: several steps, GPUs,
 * an allowlist of hosts, variables of this machine (`${NAME}`). The network is off unless the task asks for it.
 */
export function readTaskConfig(text: string, file: string): HarborConfig {
  let parsed: z.output<typeof schema>;
  try {
    parsed = schema.parse(parse(text));
  } catch (cause) {
    throw malformed(file, cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message, cause);
  }
  const { agent, verifier, environment, solution } = parsed;
  for (const [name, value] of [environment.env, verifier.env, solution.env].flatMap((env) => Object.entries(env))) {
    if (value.includes("${")) throw malformed(file, `The variable ${name} would be read from this machine.`);
  }
  if ([agent, verifier, environment].some(({ network_mode: mode }) => mode === "allowlist")) {
    throw malformed(file, "An allowlist of hosts is not supported.");
  }
  const base = environment.network_mode ?? (environment.allow_internet === true ? "public" : "no-network");
  const phase = (own: {
    readonly user?: string | undefined;
    readonly network_mode?: string | undefined;
  }): HarborPhase => ({
    user: own.user,
    network: (own.network_mode ?? base) === "public",
  });
  const config: HarborConfig = {
    agent: { ...phase(agent), seconds: agent.timeout_sec },
    verifier: { ...phase(verifier), seconds: verifier.timeout_sec, environment: verifier.env },
    image: environment.docker_image,
    buildSeconds: environment.build_timeout_sec,
    cpus: environment.cpus,
    memoryMb: environment.memory_mb ?? megabytes(environment.memory, file) ?? 2_048,
    storageMb: environment.storage_mb ?? megabytes(environment.storage, file) ?? 1_024,
    environment: environment.env,
    folder: environment.workdir,
    solutionEnvironment: solution.env,
  };
  // Tasks are JSON, which has no undefined.
  return JSON.parse(JSON.stringify(config)) as HarborConfig;
}

/** Reads a size of older files, such as `2G` or `512M`. */
function megabytes(text: string | undefined, file: string): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit] = /^\s*([\d.]+)([GMK])B?\s*$/i.exec(text) ?? [];
  if (number === undefined || unit === undefined) throw malformed(file, `"${text}" is no size, such as 2G or 512M.`);
  return Math.ceil(Number(number) * { G: 1024, M: 1, K: 1 / 1024 }[unit.toUpperCase() as "G" | "M" | "K"]);
}

function malformed(file: string, problem: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `${file} cannot be used: ${problem}`,
    hint: `The format is Harbor's task.toml, up to version ${harborSchemaVersion}.`,
    data: { file },
    ...(cause === undefined ? {} : { cause }),
  });
}
