import { z } from "zod";
import { defineTool, type ToolContext, type ToolRecord } from "../../src/core/tools/tool.ts";
import type { HarborEpisode } from "./harbor-episode.ts";

type Context = ToolContext<unknown, unknown, HarborEpisode>;

/** The tools of an agent in a task's container. They end the episode when the agent's time is used up. */
export const harborTools: ToolRecord = {
  bash: defineTool({
    description:
      "Runs a command with bash in the task's container, and returns its output and its exit code. Files remain " +
      "between commands; variables and the working directory do not.",
    inputSchema: z.strictObject({ command: z.string().min(1).max(100_000) }),
    execute: ({ command }, context: Context) => run(["bash", "-c", command], context),
  }),
  write_file: defineTool({
    description: "Writes a text file in the task's container, and makes its folder.",
    inputSchema: z.strictObject({ path: z.string().min(1).max(1_000), content: z.string().max(100_000) }),
    execute: ({ path, content }, context: Context) =>
      run(["bash", "-c", 'mkdir -p -- "$(dirname -- "$1")" && printf %s "$2" > "$1"', "bash", path, content], context),
  }),
  read_file: defineTool({
    description: "Returns a text file of the task's container.",
    inputSchema: z.strictObject({ path: z.string().min(1).max(1_000) }),
    execute: ({ path }, context: Context) => run(["cat", "--", path], context),
  }),
};

async function run(command: readonly string[], { opened, signal, end }: Context): Promise<string> {
  const { output, exitCode, timedOut } = await opened.run(command, signal);
  if (opened.isLate) end();
  if (timedOut) throw new Error(`the command took too long: all processes were stopped. Its output:\n${output}`);
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}.\n${output}`);
  return output === "" ? "Done. There is no output." : output;
}
