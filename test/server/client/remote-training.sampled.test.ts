import { afterEach, describe, expect, test } from "vitest";
import { remoteEnvironment } from "../../../server/client/remote-environment.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleOf } from "../../tier.ts";
import { letterEnvironment } from "../../trainers/letter-environment.ts";
import { checkpointState, letterConfig, runEnd, runTraining } from "../../trainers/run-training.ts";
import { serveUnderTest } from "./server-under-test.ts";

let resources = new AsyncDisposableStack();
afterEach(async () => {
  await resources.disposeAsync();
  resources = new AsyncDisposableStack();
});

const config = letterConfig({ checkpoint: { every: 1, keep: 8 } });
const steps = 6;

describe.each(sampleOf(["openenv", "grpc"] as const, 2))("over %s", (protocol) => {
  test("a training whose server is stopped and restarted waits, and ends with the weights of a local one", async () => {
    const server = resources.use(await serveUnderTest(letterEnvironment() as EnvironmentDefinition, { protocol }));
    const waits: string[] = [];
    const environment = (await remoteEnvironment(server.url, {
      onWait: (message) => waits.push(message),
    })) as EnvironmentDefinition;
    const output = temporaryFolder();
    let restarts = 0;
    const remote = await runTraining({
      output,
      config,
      environment,
      onEvent: (event) => {
        if (event.type !== "step" || ![1, 3].includes(event.step)) return;
        restarts += 1;
        void server.stop().then(() => setTimeout(() => void server.start(), 800));
      },
    });
    expect(runEnd(remote).reason).toBe("completed");
    expect(restarts).toBe(2);
    expect(waits.join("\n")).toContain("Waiting up to 240 s");
    expect(waits.join("\n")).toContain("answers again");
    const local = temporaryFolder();
    await runTraining({ output: local, config });
    expect(await checkpointState(output, steps)).toBe(await checkpointState(local, steps));
  });
});
