import { jsonlTracker } from "../../../src/reports/trackers/jsonl-tracker.ts";
import { mlflowTracker } from "../../../src/reports/trackers/mlflow/mlflow-tracker.ts";
import { tensorboardTracker } from "../../../src/reports/trackers/tensorboard/tensorboard-tracker.ts";
import { startMlflowServer } from "./mlflow-server.ts";
import { describeTracker } from "./tracker-conformance.ts";

const nothing = async (): Promise<void> => {};

describeTracker("metrics.jsonl", async ({ folder }) => ({
  tracker: jsonlTracker(folder),
  [Symbol.asyncDispose]: nothing,
}));

describeTracker("TensorBoard", async () => ({ tracker: tensorboardTracker(), [Symbol.asyncDispose]: nothing }));

describeTracker("MLflow", async () => {
  const server = await startMlflowServer();
  return {
    tracker: mlflowTracker({ url: server.url, experiment: "tests", runName: "first" }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});
