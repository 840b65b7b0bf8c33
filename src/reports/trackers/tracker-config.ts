import { z } from "zod";
import { mlflowTracker } from "./mlflow/mlflow-tracker.ts";
import { tensorboardTracker } from "./tensorboard/tensorboard-tracker.ts";
import type { Tracker } from "./tracker.ts";

/** An entry of `trackers` in a config: a name, or a mapping with options. */
export type TrackerConfig = "tensorboard" | { readonly type: "tensorboard" } | MlflowTrackerConfig;

/** The options of an MLflow tracker. */
export interface MlflowTrackerConfig {
  readonly type: "mlflow";
  readonly url: string;
  readonly experiment: string;
  readonly runName?: string | undefined;
}

const url = z.url({ protocol: /^https?$/ }).refine((text) => {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  return parsed === undefined || parsed.username + parsed.password + parsed.search === "";
}, "the config is part of the run's report. Pass credentials in the environment variables of docs/trackers.md");

/** The schema of the `trackers` key of a config. */
export const trackerConfigsSchema: z.ZodType<readonly TrackerConfig[]> = z.array(
  z.union([
    z.enum(["tensorboard"]),
    z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("tensorboard").describe("Event files in tensorboard/ of the run folder.") }),
      z.strictObject({
        type: z.literal("mlflow").describe("A run of an MLflow tracking server, over REST."),
        url: url.describe("The server's address, such as http://localhost:5000."),
        experiment: z.string().min(1).describe("The experiment. It is created if it does not exist."),
        runName: z.string().min(1).optional().describe("The name of the run. The name of its folder by default."),
      }),
    ]),
  ]),
);

/**
 * Creates the trackers that a config names. `variables` are the environment variables of the process. MLflow's own
 * variables (`MLFLOW_TRACKING_TOKEN`, or `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`) contain its
 * credentials.
 */
export function createTrackers(
  configs: readonly TrackerConfig[],
  variables: Readonly<Record<string, string | undefined>> = {},
): Tracker[] {
  return configs.map((config) => {
    if (config === "tensorboard" || config.type === "tensorboard") return tensorboardTracker();
    const { url: address, experiment, runName } = config;
    const authorization = mlflowAuthorization(variables);
    return mlflowTracker({
      url: address,
      experiment,
      runName,
      authorization,
    });
  });
}

function mlflowAuthorization(variables: Readonly<Record<string, string | undefined>>): string | undefined {
  const {
    MLFLOW_TRACKING_TOKEN: token,
    MLFLOW_TRACKING_USERNAME: name,
    MLFLOW_TRACKING_PASSWORD: password,
  } = variables;
  if (token) return `Bearer ${token}`;
  return name && password ? `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}` : undefined;
}
