import { expect, test } from "vitest";
import { jsonlTracker } from "../../../reports/trackers/jsonl-tracker.ts";
import { mlflowTracker } from "../../../reports/trackers/mlflow/mlflow-tracker.ts";
import { tensorboardTracker } from "../../../reports/trackers/tensorboard/tensorboard-tracker.ts";
import type { Tracker } from "../../../src/contract/tracker.ts";
import type { TrainingEvent } from "../../../src/contract/training-event.ts";
import { trackerConformance } from "../../../src/testing/tracker-conformance.ts";
import { describeCases } from "../../testing/describe-cases.ts";
import { startMlflowServer } from "./mlflow-server.ts";

describeCases(
  "metrics.jsonl",
  trackerConformance(({ folder }) => ({ tracker: jsonlTracker(folder) })),
);

describeCases(
  "TensorBoard",
  trackerConformance(() => ({ tracker: tensorboardTracker() })),
);

describeCases(
  "MLflow",
  trackerConformance(async () => {
    const server = await startMlflowServer();
    return {
      tracker: mlflowTracker({ url: server.url, experiment: "tests", runName: "first" }),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }),
);

/** Returns the names of the cases that a tracker fails. */
async function failures(tracker: Tracker): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of trackerConformance(() => ({ tracker }))) await run().catch(() => failed.push(name));
  return failed;
}

test("a tracker that rejects events or a resumed run is found", async () => {
  const write = async () => {};
  const close = async () => {};
  const fail = async () => Promise.reject(new Error("broken"));
  expect(await failures({ name: "", open: async () => ({ write, close }) })).toEqual(["has a name for warnings"]);
  expect(await failures({ name: "t", open: async () => ({ write, close: fail }) })).toHaveLength(5);
  const picky = async (event: TrainingEvent) => (event.type === "probe" ? fail() : undefined);
  expect(await failures({ name: "t", open: async () => ({ write: picky, close }) })).toEqual([
    "takes events of every type, and metrics and texts of any kind",
  ]);
  const once: Tracker["open"] = async ({ start }) => (start.resumedFrom > 0 ? fail() : { write, close });
  expect(await failures({ name: "t", open: once })).toEqual(["goes on with a run that is resumed"]);
});
