import { parse } from "smol-toml";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import { warn } from "../../src/core/text/warn.ts";

/** The newest schema version of `task.toml` that this reader knows. */
const harborSchemaVersion = "1.4";

const variables = z.record(z.string(), z.string()).default({});
const user = z.union([z.string(), z.int()]).transform(String).optional();
const networkMode = z.enum(["no-network", "public", "allowlist"]).optional();
const seconds = z.number().positive();

/** Keys that say nothing about how a task is played. */
const anything = z.unknown().optional();

const healthcheck = z.strictObject({
  command: z.string().min(1),
  interval_sec: z.number().nonnegative().default(5),
  timeout_sec: seconds.default(30),
  start_period_sec: z.number().nonnegative().default(0),
  start_interval_sec: z.number().nonnegative().default(5),
  retries: z.int().positive().default(3),
});

const artifact = z.union([z.string().transform((source) => ({ source })), z.looseObject({ source: z.string() })]).pipe(
  z.strictObject({
    source: z.string().refine((path) => !path.split("/").includes(".."), "A path may not have .."),
    destination: z.string().optional(),
    exclude: z.array(z.string()).default([]),
    service: z.literal("main", "Other services than main are not supported").default("main"),
  }),
);

const schema = z.strictObject({
  schema_version: z.string().default(harborSchemaVersion),
  version: anything,
  task: anything,
  metadata: anything,
  source: anything,
  multi_step_reward_strategy: anything,
  steps: z.array(z.unknown()).max(0, "Tasks of several steps are not supported").optional(),
  artifacts: z.array(artifact).default([]),
  agent: z.strictObject({ timeout_sec: seconds.optional(), user, network_mode: networkMode }).prefault({}),
  verifier: z
    .strictObject({
      timeout_sec: seconds.default(600),
      user,
      env: variables,
      network_mode: networkMode,
      environment_mode: z.enum(["shared", "separate"]).default("shared"),
      environment: z.undefined("An image of its own for the verifier is not supported").optional(),
      collect: z.array(z.unknown()).max(0, "Commands before the verifier are not supported").optional(),
    })
    .prefault({}),
  environment: z
    .strictObject({
      build_timeout_sec: seconds.default(600),
      docker_image: z.string().optional(),
      os: z.string().toLowerCase().pipe(z.literal("linux", "Only Linux is supported")).default("linux"),
      cpus: z.number().positive().default(1),
      memory_mb: z.int().min(16).optional(),
      memory: z.string().optional(),
      storage_mb: z.int().positive().optional(),
      storage: z.string().optional(),
      gpus: z.literal(0, "GPUs are not supported").optional(),
      gpu_types: anything,
      tpu: z.undefined("TPUs are not supported").optional(),
      mcp_servers: z.array(z.unknown()).max(0, "MCP servers of tasks are not supported").optional(),
      skills_dir: z.string().startsWith("/", "The path must be absolute").optional(),
      healthcheck: healthcheck.optional(),
      env: variables,
      workdir: z.string().optional(),
      network_mode: networkMode,
      allow_internet: z.boolean().optional(),
    })
    .prefault({}),
  solution: z.strictObject({ env: variables }).prefault({}),
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
  /** The folder of skills in the container: each is a folder with `SKILL.md`. */
  readonly skills?: string | undefined;
  readonly healthcheck?: HarborHealthcheck | undefined;
  /** The only paths whose changes the tests get. Absent: all changes. */
  readonly artifacts?: readonly string[] | undefined;
  readonly solutionEnvironment: Readonly<Record<string, string>>;
}

/** A command that says if a container is ready. Times are in seconds. */
export interface HarborHealthcheck {
  readonly command: string;
  readonly timeout: number;
  readonly interval: number;
  /** How many failures in a row end the wait. */
  readonly retries: number;
  /** In this time after the start, failures do not count. */
  readonly startPeriod: number;
  readonly startInterval: number;
}

/** One phase of an episode. */
interface HarborPhase {
  readonly user?: string | undefined;
  /** True if the task asks for the network. */
  readonly network: boolean;
}

/**
 * Reads a `task.toml`. As in Harbor, the network is on unless the task turns it off. Throws `data.malformed` for what
 * is wrong, and for what is not supported: several steps, GPUs, MCP servers, an allowlist of hosts, variables of this
 * machine (`${NAME}`). Warns of keys that it does not know.
 */
export function readTaskConfig(text: string, file: string): HarborConfig {
  let parsed: z.output<typeof schema>;
  try {
    parsed = schema.parse(withoutUnknownKeys(parse(text) as Json, file));
  } catch (cause) {
    throw malformed(file, cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message, cause);
  }
  const { agent, verifier, environment, solution, artifacts } = parsed;
  for (const [name, value] of [environment.env, verifier.env, solution.env].flatMap((env) => Object.entries(env))) {
    if (value.includes("${")) throw malformed(file, `The variable ${name} would be read from this machine.`);
  }
  if ([agent, verifier, environment].some(({ network_mode: mode }) => mode === "allowlist")) {
    throw malformed(file, "An allowlist of hosts is not supported.");
  }
  const base = environment.network_mode ?? (environment.allow_internet === false ? "no-network" : "public");
  const phase = (own: {
    readonly user?: string | undefined;
    readonly network_mode?: string | undefined;
  }): HarborPhase => ({
    user: own.user,
    network: (own.network_mode ?? base) === "public",
  });
  const isSeparate = verifier.environment_mode === "separate";
  for (const { source, exclude } of isSeparate ? artifacts : []) {
    if (!source.startsWith("/")) throw malformed(file, `artifacts: "${source}" is not an absolute path.`);
    if (exclude.length > 0) throw malformed(file, "artifacts: exclude is not supported with a separate verifier.");
  }
  if (!isSeparate && artifacts.length > 0) {
    warn("HarborTask", `${file}: artifacts are not kept after an episode. The tests see all changed files.`);
  }
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
    skills: environment.skills_dir,
    healthcheck: environment.healthcheck === undefined ? undefined : healthcheckOf(environment.healthcheck),
    artifacts: isSeparate ? artifacts.map(({ source }) => source.replace(/(?<=.)\/+$/, "")) : undefined,
    solutionEnvironment: solution.env,
  };
  // Tasks are JSON, which has no undefined.
  return JSON.parse(JSON.stringify(config)) as HarborConfig;
}

function healthcheckOf(check: z.output<typeof healthcheck>): HarborHealthcheck {
  const { command, timeout_sec, interval_sec, retries, start_period_sec, start_interval_sec } = check;
  return {
    command,
    timeout: timeout_sec,
    interval: interval_sec,
    retries,
    startPeriod: start_period_sec,
    startInterval: start_interval_sec,
  };
}

/** Returns the content without keys that this reader does not know, and warns of them. */
function withoutUnknownKeys(content: Json, file: string): Json {
  const known = structuredClone(content);
  const unknown = (schema.safeParse(content).error?.issues ?? []).flatMap((issue) => {
    if (issue.code !== "unrecognized_keys") return [];
    const holder = issue.path.reduce<Json | undefined>(
      (value, key) => (isJsonObject(value) ? value[String(key)] : undefined),
      known,
    );
    if (!isJsonObject(holder)) return [];
    for (const key of issue.keys) Reflect.deleteProperty(holder, key);
    return issue.keys.map((key) => [...issue.path, key].join("."));
  });
  if (unknown.length > 0) warn("HarborTask", `${file}: unknown keys are ignored: ${unknown.join(", ")}.`);
  return known;
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
