import { z } from "zod";
import type { Tracker } from "../../src/contract/tracker.ts";
import { createRegistry, type Registry } from "../../src/core/registry.ts";
import { mlflowTracker } from "./mlflow/mlflow-tracker.ts";
import { tensorboardTracker } from "./tensorboard/tensorboard-tracker.ts";

/** The environment variables of the process. */
type Variables = Readonly<Record<string, string | undefined>>;

/** A kind of tracker that a config can name. */
export interface TrackerDefinition<Options extends z.ZodObject = z.ZodObject> {
  readonly id: string;
  readonly description: string;
  /** The schema of the options. A name alone is enough if all options have defaults. */
  readonly options: Options;
  /** Creates the tracker from checked options. `variables` contain its credentials, which no config contains. */
  create(options: z.output<Options>, context: { readonly variables: Variables }): Tracker;
}

/** Returns the definition unchanged. Infers the type of `create`'s options from their schema. */
export function defineTracker<Options extends z.ZodObject>(definition: TrackerDefinition<Options>): TrackerDefinition {
  return definition as unknown as TrackerDefinition;
}

const url = z.url({ protocol: /^https?$/ }).refine((text) => {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  return parsed === undefined || parsed.username + parsed.password + parsed.search === "";
}, "the config is part of the run's report. Pass credentials in the environment variables of docs/trackers.md");

/** The trackers that a config can name. */
export const trackers: Registry<TrackerDefinition> = createRegistry("tracker", [
  defineTracker({
    id: "tensorboard",
    description: "Event files in tensorboard/ of the run folder.",
    options: z.object({}),
    create: () => tensorboardTracker(),
  }),
  defineTracker({
    id: "mlflow",
    description: "A run of an MLflow tracking server, over REST.",
    options: z.object({
      url: url.describe("The server's address, such as http://localhost:5000."),
      experiment: z.string().min(1).describe("The experiment. It is created if it does not exist."),
      runName: z.string().min(1).optional().describe("The name of the run. The name of its folder by default."),
    }),
    create: ({ url: address, experiment, runName }, { variables }) =>
      mlflowTracker({ url: address, experiment, runName, authorization: mlflowAuthorization(variables) }),
  }),
]);

/** An entry of `trackers` in a config: a name, or a mapping with options. */
export type TrackerConfig = string | { readonly type: string };

const mappings = trackers
  .list()
  .map(({ id, description, options }) =>
    z.strictObject({ type: z.literal(id).describe(description), ...options.shape }),
  );
const [firstMapping, ...otherMappings] = mappings;
const plainNames = trackers.list().flatMap(({ id, options }) => (options.safeParse({}).success ? [id] : []));

/** The schema of the `trackers` key of a config. */
export const trackerConfigsSchema: z.ZodType<readonly TrackerConfig[]> = z.array(
  z.union([z.enum(plainNames), z.discriminatedUnion("type", [firstMapping!, ...otherMappings])]),
);

/**
 * Creates the trackers that a config names. MLflow's own variables (`MLFLOW_TRACKING_TOKEN`, or
 * `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`) contain its credentials.
 */
export function createTrackers(configs: readonly TrackerConfig[], variables: Variables = {}): Tracker[] {
  return configs.map((config) => {
    const { type, ...options } = typeof config === "string" ? { type: config } : config;
    return trackers.get(type).create(options, { variables });
  });
}

function mlflowAuthorization(variables: Variables): string | undefined {
  const {
    MLFLOW_TRACKING_TOKEN: token,
    MLFLOW_TRACKING_USERNAME: name,
    MLFLOW_TRACKING_PASSWORD: password,
  } = variables;
  if (token) return `Bearer ${token}`;
  return name && password ? `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}` : undefined;
}
