import { createDockerJavaScriptSandbox } from "../../sandbox/docker/create-docker-javascript-sandbox.ts";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { missingRequirement } from "./docker-javascript.ts";
import { describeJavascriptAttacks } from "./javascript-attack-suite.ts";
import { javascriptAttacks as attacks } from "./javascript-attacks.ts";
import { openAsOrdinaryUser } from "./ordinary-user.ts";

const options = { workers: 1, spares: 1 };

describeJavascriptAttacks({ name: "isolated-vm", open: () => createIsolatedVmSandbox(options), attacks });
describeJavascriptAttacks({
  name: "isolated-vm of an ordinary user",
  open: () => openAsOrdinaryUser("isolated-vm"),
  attacks,
  missing: process.getuid?.() === 0 ? undefined : "the other one is",
});
describeJavascriptAttacks({
  name: "docker",
  open: () => createDockerJavaScriptSandbox(options),
  attacks,
  missing: await missingRequirement(),
});
