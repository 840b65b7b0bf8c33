import { join, resolve } from "node:path";
import { z } from "zod";
import { openWorkspaces, type Workspaces } from "../../sandbox/index.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type Message, textMessage } from "../../src/contract/message.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { sharedResource } from "../../src/core/environment/shared-resource.ts";
import { warn } from "../../src/core/text/warn.ts";
import { callMessage } from "../../src/core/tools/call-message.ts";
import { type ToolProtocol, toolProtocols } from "../../src/core/tools/tool-message.ts";
import { anySplit } from "../shared/rows/row-file.ts";
import { HarborEpisode } from "./harbor-episode.ts";
import { type HarborTask, readHarborTasks } from "./harbor-task.ts";
import { harborTools } from "./harbor-tools.ts";

const description = "Harbor task folders: an agent with a shell in a container, judged by the task's own tests.";

const instruction =
  "You work in a container, with the tools bash, write_file and read_file. Do the task. When it is done, answer without " +
  "a call: tests then check the files that you leave. Processes in the background are stopped.";

const schema = z.strictObject({
  path: z.string().min(1).optional().describe("A task folder, or a folder that contains task folders."),
  maxTurns: z.int().min(1).max(1_000).default(30).describe("The maximum number of messages of the agent."),
  commandSeconds: z.number().min(0.1).max(3_600).default(120).describe("The timeout of one command, in seconds."),
  outputCharacters: z
    .int()
    .min(100)
    .max(200_000)
    .default(8_000)
    .describe("The maximum length of a command's output. The rest is cut off."),
  network: z
    .boolean()
    .default(true)
    .describe("Whether tasks have the network, unless they turn it off. false turns it off for all tasks."),
  artifacts: z
    .string()
    .min(1)
    .optional()
    .describe("A folder on this machine. It gets a tar file for each episode that leaves files in /logs/artifacts."),
  minimumReward: z.number().default(0).describe("The lowest reward of the tasks. Lower ones count as this."),
  maximumReward: z.number().default(1).describe("The highest reward of the tasks. Higher ones count as this."),
  protocol: z
    .enum(toolProtocols)
    .default("native")
    .describe(
      "The format of tool calls: tags in the text (tagged), or the format of the model's chat template (native).",
    ),
});

/** The options of the Harbor environment. The schema describes each one. */
export interface HarborOptions {
  readonly path?: string | undefined;
  readonly maxTurns: number;
  readonly commandSeconds: number;
  readonly outputCharacters: number;
  readonly network: boolean;
  readonly artifacts?: string | undefined;
  readonly minimumReward: number;
  readonly maximumReward: number;
  readonly protocol: ToolProtocol;
}

/**
 * Creates the environment of Harbor task folders. An agent gets a task's instruction and works with a shell in a
 * container of the task's image. When it answers without a call, and at the end of its turns or its time, the task's
 * tests run in a new container on the files that it left, and the reward is what they write. What the agent does wrong
 * earns the lowest reward. If the engine fails, the episode is unscored. Throws `config.invalid` for invalid options.
 * `tasks` rejects with `data.not-found` and `data.malformed`.
 */
export function harborEnvironment(options: Partial<HarborOptions> = {}): EnvironmentDefinition<HarborTask> {
  const parsed = parseEnvironmentOptions("harbor", schema, options);
  const { path, maxTurns, commandSeconds, network, protocol } = parsed;
  const rewardRange = [parsed.minimumReward, parsed.maximumReward] as const;
  const artifacts = parsed.artifacts === undefined ? undefined : resolve(parsed.artifacts);
  const settings = { root: resolve(path ?? "."), commandSeconds, network, rewardRange, artifacts };
  let hasWarned = false;
  const workspaces = sharedResource<Workspaces>(() => openWorkspaces());
  const environment = defineEnvironment<HarborTask, undefined, HarborEpisode>({
    id: "harbor",
    description,
    splits: ["train"],
    tasks: () => (path === undefined ? Promise.reject(noPath()) : readHarborTasks(path)),
    maxTurns,
    rewardRange,
    deterministic: false,
    open: async () => new HarborEpisode(await workspaces(), settings),
    reset: async ({ task, opened, signal }) => {
      const skills = await opened.begin(task, signal);
      const system = skills === undefined ? instruction : `${instruction}\n\n${skills}`;
      return [textMessage("system", system), textMessage("user", task.instruction)];
    },
    tools: [harborTools],
    toolProtocol: protocol,
    toolLimits: { callMs: 1000 * commandSeconds + 60_000, resultCharacters: parsed.outputCharacters },
    afterCalls: ({ turnsLeft }) => (turnsLeft === 1 ? "One message is left." : undefined),
    step: async ({ opened, signal }) => {
      const { reward, output, artifacts: kept } = await opened.verify(signal);
      if (kept?.startsWith("not kept") && !hasWarned) {
        hasWarned = true;
        warn("HarborArtifacts", `What a task left in /logs/artifacts is ${kept}.`);
      }
      return { reward, info: { tests: output, ...(kept === undefined ? {} : { artifacts: kept }) } };
    },
    demonstrate: (task) => demonstration(task, maxTurns),
  });
  return {
    ...anySplit(environment),
    taskFolder: async ({ name, path }) => ({ name, copyOf: join(settings.root, path) }),
  };
}

/** Returns the messages that run a task's solution, or undefined if it has none or they are too many. */
function demonstration({ solution, config }: HarborTask, maxTurns: number): readonly (string | Message)[] | undefined {
  if (solution === undefined || maxTurns < 2) return undefined;
  const script = solution["solve.sh"]!;
  const exports = Object.entries(config.solutionEnvironment).map(
    ([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`,
  );
  const isAlone = Object.keys(solution).length === 1 && !/\$0|BASH_SOURCE|\/solution/.test(script);
  if (isAlone) return [callMessage(["bash", { command: exports.join("") + script }]), "Done."];
  const files = Object.entries(solution).map(
    ([path, content]) => ["write_file", { path: `/solution/${path}`, content }] as const,
  );
  const messages = files.map((call) => callMessage(call));
  if (messages.length + 2 > maxTurns) return undefined;
  return [...messages, callMessage(["bash", { command: `${exports.join("")}bash /solution/solve.sh` }]), "Done."];
}

function noPath(): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: 'The environment "harbor" has no built-in tasks.',
    hint: "Give the path of a task folder, or of a folder of them, such as path: tasks.",
  });
}

/** The registry entry of the Harbor environment. */
export const harborEntry = defineEnvironmentEntry({
  id: "harbor",
  description,
  options: schema,
  neverFromLog: ["path", "artifacts"],
  create: (options) => harborEnvironment(options),
});
