import { localRunner } from "../../../server/session/local-runner.ts";
import { runnerEnvironments } from "./runner-environments.ts";
import { describeRunner } from "./runner-suite.ts";

describeRunner("localRunner", () => localRunner(runnerEnvironments()));
