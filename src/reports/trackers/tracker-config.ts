import { z } from "zod";
import { mlflowTracker } from "./mlflow/mlflow-tracker.ts";
import { tensorboardTracker } from "./tensorboard/tensorboard-tracker.ts";
import type { Tracker } from "./tracker.ts";

/** One of `trackers` in a config: a name, or a mapping where there is something to say. */
export type TrackerConfig = "tensorboard" | { readonly type: "tensorboard" } | MlflowTrackerConfig;

/** Where a run is tracked by MLflow. */
export interface MlflowTrackerConfig {
  readonly type: "mlflow";
  readonly url: string;
  readonly experiment: string;
  readonly runName?: string | undefined;
}

const url = z.url({ protocol: /^https?$/ }).refine((text) => {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  return parsed === undefined || parsed.username + parsed.password + parsed.search === "";
}, "a config is written into the run's report: give credentials by the variables of docs/trackers.md");

/** The `trackers` key of a config. */
export const trackerConfigsSchema: z.ZodType<readonly TrackerConfig[]> = z.array(
  z.union([
    z.enum(["tensorboard"]),
    z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("tensorboard").describe("Event files in tensorboard/ of the run's folder.") }),
      z.strictObject({
        type: z.literal("mlflow").describe("A run of an MLflow tracking server, over REST."),
        url: url.describe("The server's address, such as http://localhost:5000."),
        experiment: z.string().min(1).describe("The experiment; it is made where it is missing."),
        runName: z.string().min(1).optional().describe("The run's name; that of its folder when absent."),
      }),
    ]),
  ]),
);

/**
 * The trackers that a config names. `variables` are those of the process: MLflow's own (`MLFLOW_TRACKING_TOKEN`, or
 * `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`) hold its credentials.
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
      ...(authorization === undefined ? {} : { authorization }),
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
