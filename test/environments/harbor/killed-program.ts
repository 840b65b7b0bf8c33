import { harborEnvironment } from "../../../environments/index.ts";

/*
 * Starts an episode of the task folder that the command line names, says so, and waits to be killed.
 */
const environment = harborEnvironment({ path: process.argv[2]! });
const instance = await environment.create();
const { task } = await (await environment.tasks("test")).get(0);
await instance.reset({ task, seed: 1 });
process.stdout.write("started\n");
setInterval(() => {}, 1_000);
