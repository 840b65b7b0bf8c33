import { workerRunner } from "../../../server/session/worker-runner.ts";
import { describeRunner } from "./runner-suite.ts";

const module = new URL("./runner-environments.ts", import.meta.url);

describeRunner("workerRunner", () => workerRunner({ module, workers: 2 }));
