import type { TerminalStream } from "../reports/training/live-block.ts";
import type { CaptureArguments } from "./capture-program.ts";
import type { Catalog } from "./catalog.ts";
import type { CheckArguments } from "./check-program.ts";
import type {
  CollectArguments,
  ExportArguments,
  InfoArguments,
  InitArguments,
  PlayArguments,
  ReportArguments,
  TrainArguments,
} from "./create-program.ts";
import type { CompareArguments, EvalArguments, RescoreArguments } from "./eval-program.ts";
import type { ExportHarborArguments } from "./export-harbor-program.ts";
import type { ExportPythonArguments } from "./export-python-program.ts";
import type { MigrateArguments } from "./migrate-program.ts";
import type { PlanArguments } from "./plan-program.ts";
import type { ServeModelArguments } from "./serve-model-program.ts";
import type { ServeArguments } from "./serve-program.ts";
import type { ViewArguments } from "./view-program.ts";

/** The functions that run the commands. Tests pass their own functions to test the parsing alone. */
export interface Commands {
  train(args: TrainArguments): Promise<void>;
  plan(args: PlanArguments): Promise<void>;
  report(args: ReportArguments): Promise<void>;
  init(args: InitArguments): Promise<void>;
  check(args: CheckArguments): Promise<void>;
  play(args: PlayArguments): Promise<void>;
  collect(args: CollectArguments): Promise<void>;
  eval(args: EvalArguments): Promise<void>;
  compare(args: CompareArguments): Promise<void>;
  rescore(args: RescoreArguments): Promise<void>;
  view(args: ViewArguments): Promise<void>;
  capture(args: CaptureArguments): Promise<void>;
  serve(args: ServeArguments): Promise<void>;
  serveModel(args: ServeModelArguments): Promise<void>;
  migrate(args: MigrateArguments): Promise<void>;
  export(args: ExportArguments): Promise<void>;
  exportPython(args: ExportPythonArguments): Promise<void>;
  exportHarbor(args: ExportHarborArguments): Promise<void>;
  info(args: InfoArguments): Promise<void>;
}

/** What a command runs with, besides its arguments. */
export interface CommandContext {
  readonly catalog: Catalog;
  readonly output: TerminalStream;
  /** The environment variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts the command, so that it saves its work and ends. */
  readonly signal: AbortSignal;
}
