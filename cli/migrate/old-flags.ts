/** A flag of an old program that has another name here. */
export interface OldFlag {
  readonly command: "train" | "eval" | "collect" | "serve";
  readonly flag: string;
  /** The new flag or config key. */
  readonly now: string;
  readonly note?: string;
}

/** The flags of `mrlm`, of LLM_Collab's training scripts, and of torchrun, which starts MRLM's scripts. */
export const oldFlags: readonly OldFlag[] = [
  { command: "train", flag: "--config", now: "--config", note: "convert an old file first: lyceum migrate" },
  { command: "train", flag: "--output", now: "--output" },
  { command: "train", flag: "--output_base_dir", now: "--output", note: "the run folder itself" },
  {
    command: "train",
    flag: "--resume CHECKPOINT",
    now: "--resume CHECKPOINT",
    note: "resumes the run of the checkpoint",
  },
  { command: "train", flag: "--override a=b c=d", now: "--override", note: "with old or new keys" },
  { command: "train", flag: "--model_name", now: "model.path" },
  { command: "train", flag: "--num_epochs", now: "training.epochs" },
  { command: "train", flag: "--num_turns", now: "environment.maxTurns" },
  { command: "train", flag: "--turn_gradient_weights", now: "algorithm.turnWeights" },
  {
    command: "train",
    flag: "--nproc_per_node",
    now: "backend.processes",
    note: "with backend.type torch, as the others",
  },
  { command: "train", flag: "--num-gpus", now: "backend.processes" },
  { command: "train", flag: "--strategy", now: "backend.strategy", note: "fsdp2 and deepspeed are fsdp" },
  { command: "train", flag: "--nnodes", now: "backend.nodes" },
  { command: "train", flag: "--node_rank", now: "lyceum torch-node --node", note: "for each node but the first, 0" },
  { command: "train", flag: "--master_addr", now: "backend.rendezvous", note: "with --master_port, 29500 by default" },
  { command: "train", flag: "--master_port", now: "backend.rendezvous", note: "one node meets at a free port" },
  { command: "train", flag: "--standalone", now: "backend.nodes", note: "one node, the default" },
  { command: "train", flag: "--gpu-ids", now: "CUDA_VISIBLE_DEVICES", note: "an environment variable of the command" },
  { command: "eval", flag: "--model", now: "--model" },
  { command: "eval", flag: "--environment", now: "--env" },
  { command: "eval", flag: "--num-episodes", now: "--num-episodes" },
  {
    command: "eval",
    flag: "--output FILE",
    now: "--output",
    note: "a folder; for FILE.json the folder FILE, with the summary in FILE.json",
  },
  { command: "collect", flag: "--model", now: "--model" },
  { command: "collect", flag: "--environment", now: "--env" },
  { command: "collect", flag: "--num-episodes", now: "--episodes" },
  {
    command: "collect",
    flag: "--output FILE",
    now: "--output",
    note: "one conversation per line; the name must not end in .parquet or .gz",
  },
  { command: "collect", flag: "--filter-reward", now: "--min-reward" },
  { command: "serve", flag: "--environments", now: "--environments" },
  { command: "serve", flag: "--port", now: "--port", note: "OpenEnv's protocol; --grpc-port is for gRPC" },
  { command: "serve", flag: "--host", now: "--host", note: "addresses other than loopback need a token" },
];

/** The environments of MRLM that have another name here. */
export const oldEnvironmentNames: Readonly<Record<string, string>> = { tool: "tools" };
