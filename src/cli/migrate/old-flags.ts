/** A flag of an old program that is another here. */
export interface OldFlag {
  readonly command: "train" | "eval" | "collect" | "serve";
  readonly flag: string;
  /** The flag, or the config's key, that it becomes; absent if there is none. */
  readonly now?: string;
  readonly note?: string;
  /** Takes no value. */
  readonly bare?: boolean;
}

const oneProcess = "training runs in one process on one device, without torchrun";

/** Flags of `mrlm`, of LLM_Collab's training scripts and of torchrun, which MRLM's are started by. */
export const oldFlags: readonly OldFlag[] = [
  { command: "train", flag: "--config", now: "--config", note: "an old file has to be converted: lyceum migrate" },
  { command: "train", flag: "--output", now: "--output" },
  { command: "train", flag: "--output_base_dir", now: "--output", note: "the run's folder itself" },
  {
    command: "train",
    flag: "--resume CHECKPOINT",
    now: "--resume CHECKPOINT",
    note: "goes on with the run that the checkpoint is of",
  },
  { command: "train", flag: "--override a=b c=d", now: "--override", note: "with old or new keys" },
  { command: "train", flag: "--model_name", now: "model.path" },
  { command: "train", flag: "--num_epochs", now: "training.epochs" },
  { command: "train", flag: "--num_turns", now: "environment.maxTurns" },
  { command: "train", flag: "--turn_gradient_weights", now: "algorithm.turnWeights" },
  { command: "train", flag: "--strategy", note: oneProcess },
  { command: "train", flag: "--nproc_per_node", note: oneProcess },
  { command: "train", flag: "--nnodes", note: oneProcess },
  { command: "train", flag: "--node_rank", note: oneProcess },
  { command: "train", flag: "--master_addr", note: oneProcess },
  { command: "train", flag: "--master_port", note: oneProcess },
  { command: "train", flag: "--num-gpus", note: oneProcess },
  { command: "train", flag: "--gpu-ids", note: oneProcess },
  { command: "eval", flag: "--model", now: "--model" },
  { command: "eval", flag: "--environment", now: "--env" },
  { command: "eval", flag: "--num-episodes", now: "--num-episodes" },
  {
    command: "eval",
    flag: "--output FILE",
    now: "--output",
    note: "a folder; of FILE.json the folder FILE, and the summary in FILE.json",
  },
  { command: "collect", flag: "--model", now: "--model" },
  { command: "collect", flag: "--environment", now: "--env" },
  { command: "collect", flag: "--num-episodes", now: "--episodes" },
  {
    command: "collect",
    flag: "--output FILE",
    now: "--output",
    note: "one conversation a line, whatever the file is called",
  },
  { command: "collect", flag: "--filter-reward", now: "--min-reward" },
  {
    command: "serve",
    flag: "--environments, --port, --host",
    note: "environments run in the process that trains or evaluates",
  },
];

/** Names that MRLM has for environments that are called otherwise here. */
export const oldEnvironmentNames: Readonly<Record<string, string>> = { tool: "tools" };
