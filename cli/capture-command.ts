import { randomBytes } from "node:crypto";
import { captureServer } from "../server/capture/index.ts";
import { checkToken } from "../server/http/check-token.ts";
import { aborted } from "../src/core/concurrency/aborted.ts";
import { visibleLine } from "../src/core/text/visible-text.ts";
import { withoutUndefined } from "../src/core/without-undefined.ts";
import type { CaptureArguments } from "./capture-program.ts";
import { namedEngine } from "./catalog.ts";
import type { CommandContext } from "./command-context.ts";
import { modelSettings } from "./model-arguments.ts";
import { createPolicyOpener } from "./policy-opener.ts";

/** The environment variable with the admin key. */
const keyVariable = "LYCEUM_CAPTURE_ADMIN_KEY";

/**
 * Runs `lyceum capture`: opens the model as `lyceum eval` does, and answers model calls until the signal aborts. Throws
 * `config.invalid` for an address that other machines reach if no admin key is given.
 */
export async function captureCommand(args: CaptureArguments, options: CommandContext): Promise<void> {
  const { catalog, output, environment, signal } = options;
  const given = args.adminKey ?? environment[keyVariable];
  checkToken(given, { hostname: args.host, name: "admin key", variable: keyVariable });
  const adminKey = given ?? randomBytes(24).toString("base64url");
  await using opener = createPolicyOpener({ catalog, engine: namedEngine(args), signal });
  const policy = await opener.openSettings(await modelSettings(args));
  opener.checkEngineOptions(args);
  const { temperature, maxTokens, maxModelCalls, host, port, maxSessions } = args;
  await using server = await captureServer({
    ...withoutUndefined({ port }),
    host,
    adminKey,
    policy,
    maxSessions,
    defaults: { sampling: withoutUndefined({ temperature, maxTokens }), ...withoutUndefined({ maxModelCalls }) },
  });
  output.write(`${visibleLine(policy.name)} answers at ${server.url}/v1 (Ctrl-C ends)\n`);
  if (given === undefined) output.write(`The admin key is ${adminKey}\n`);
  await aborted(signal);
}
