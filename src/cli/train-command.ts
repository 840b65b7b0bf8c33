import { existsSync } from "node:fs";
import { basename, extname, join } from "node:path";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { train } from "../../trainers/train.ts";
import { LyceumError } from "../errors/index.ts";
import type { Json } from "../json.ts";
import { recordRun, reportFileName, showTraining, type TerminalViewOptions } from "../report/index.ts";
import { visibleText } from "../report/visible-text.ts";
import type { TrainArguments } from "./create-program.ts";
import { loadRunConfig } from "./load-run-config.ts";
import type { Rooms } from "./rooms.ts";

/**
 * `lyceum train`: reads the config, trains, shows and records the run. Ends normally when the run is completed;
 * throws `aborted` when the signal stopped it, with the command to go on as the hint.
 */
export async function trainCommand(
  args: TrainArguments,
  options: {
    readonly rooms: Rooms;
    readonly view: TerminalViewOptions;
    readonly signal: AbortSignal;
    /** The command line that resumes a run kept in `output`. */
    readonly resumeCommand: (output: string) => string;
  },
): Promise<void> {
  const { rooms, view, signal, resumeCommand } = options;
  const { config, environments } = await loadRunConfig({ path: args.config, overrides: args.set, rooms });
  const { environment: environmentConfig, output: configured, ...trainingConfig } = config;
  const { id, ...environmentOptions } = environmentConfig;
  const output = args.output ?? configured ?? join("runs", basename(args.config, extname(args.config)));

  const environment = environments.create(id, environmentOptions);
  await using backend = await rooms.createBackend(config);
  const events = train({
    config: trainingConfig as TrainingConfigInput,
    environment,
    environmentOptions,
    backend,
    output,
    resume: args.resume,
    signal,
  });
  const plainConfig = JSON.parse(JSON.stringify(config)) as Json;
  const end = await showTraining(recordRun(events, { folder: output, config: plainConfig }), view);

  const say = (text: string): void => {
    view.stream.write(`${visibleText(text)}\n`);
  };
  const report = join(output, reportFileName);
  if (existsSync(report)) say(`report: ${report}`);
  if (end?.exported !== undefined) say(`model: ${end.exported}`);
  if (end?.reason === "aborted") {
    throw new LyceumError({
      code: "aborted",
      message: `Interrupted at step ${end.step}.`,
      hint:
        end.checkpoint === undefined
          ? "No checkpoint was saved."
          : `A checkpoint is saved in ${end.checkpoint}. Go on with:\n\n  ${resumeCommand(output)}\n`,
    });
  }
}
