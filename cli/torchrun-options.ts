import { type Command, Option } from "commander";
import { invalidConfig } from "../src/contract/errors/index.ts";
import { isHost, rendezvous } from "./migrate/mrlm-cluster.ts";
import { noMegatron } from "./migrate/torch-commands.ts";
import { port, positive, wholeNumber } from "./option-values.ts";

/** The flags of torchrun and of MRLM's scripts for several GPUs. */
export interface TorchrunArguments {
  readonly nprocPerNode?: string;
  readonly numGpus?: number;
  readonly nnodes?: string;
  readonly nodeRank?: number;
  readonly masterAddr?: string;
  readonly masterPort?: number;
  readonly strategy?: string;
  readonly gpuIds?: readonly string[];
  /** Not needed: one node always meets at a free port. */
  readonly standalone?: boolean;
}

/** Adds the flags to `lyceum train`. torchrun reads each with dashes and with underscores. They are hidden in help. */
export function addTorchrunOptions(command: Command): void {
  const options = [
    new Option("--nproc_per_node, --nproc-per-node <n>", "backend.processes"),
    new Option("--num_gpus, --num-gpus <n>", "backend.processes").argParser(positive),
    new Option("--nnodes <n>", "backend.nodes"),
    new Option("--node_rank, --node-rank <n>", "0; other nodes run lyceum torch-node").argParser(wholeNumber),
    new Option("--master_addr, --master-addr <host>", "backend.rendezvous"),
    new Option("--master_port, --master-port <port>", "backend.rendezvous").argParser(port),
    new Option("--strategy <name>", "backend.strategy"),
    new Option("--gpu_ids, --gpu-ids <ids...>", "CUDA_VISIBLE_DEVICES"),
    new Option("--standalone", "one node"),
  ];
  for (const option of options) command.addOption(option.hideHelp());
}

/**
 * Returns the arguments of a command without these flags, which become changes of the config before its own, in `set`.
 * Throws `config.invalid` for a value that the PyTorch backend does not have, and for another node than the first.
 */
export function withTorchrun<Arguments extends { readonly set: readonly string[] }>(
  args: Arguments & TorchrunArguments,
): Arguments {
  const {
    nprocPerNode,
    numGpus,
    nnodes,
    nodeRank = 0,
    masterAddr,
    masterPort,
    strategy,
    gpuIds,
    standalone,
    ...rest
  } = args;
  const processes = nprocPerNode === undefined ? numGpus : number("--nproc_per_node", nprocPerNode);
  const nodes = nnodes === undefined ? undefined : number("--nnodes", nnodes);
  const meets = meetingPlace({ nodes, masterAddr, masterPort });
  if (gpuIds !== undefined) {
    const ids = gpuIds.join(",");
    throw invalidConfig(
      `--gpu-ids ${ids} is an environment variable here: CUDA_VISIBLE_DEVICES=${ids}.`,
      `Run CUDA_VISIBLE_DEVICES=${ids} lyceum train ... --nproc_per_node ${ids.split(",").length}.`,
    );
  }
  if (nodeRank > 0) {
    const place = `--nodes ${nodes ?? "N"} --processes ${processes ?? 1} --rendezvous ${meets ?? "HEAD_NODE:29500"}`;
    throw invalidConfig(
      `--node_rank ${nodeRank} is not the first node, on which lyceum train runs.`,
      `Run lyceum torch-node --node ${nodeRank} ${place} on this one.`,
    );
  }
  const backend = Object.entries({
    processes,
    nodes,
    rendezvous: meets,
    strategy: strategy === undefined ? undefined : strategyOf(strategy),
  }).filter(([, value]) => value !== undefined);
  const named = backend.length > 0 || standalone === true;
  const set = [
    ...(named ? ["backend.type=torch"] : []),
    ...backend.map(([key, value]) => `backend.${key}=${JSON.stringify(value)}`),
    ...args.set,
  ];
  return { ...(rest as unknown as Arguments), set };
}

/** Returns the address at which nodes meet. One node needs none, and its own address or port has no effect. */
function meetingPlace({
  nodes,
  masterAddr,
  masterPort,
}: Pick<TorchrunArguments, "masterAddr" | "masterPort"> & { readonly nodes: number | undefined }): string | undefined {
  if (masterAddr !== undefined && !isHost(masterAddr)) {
    throw invalidConfig(`--master_addr ${masterAddr} is not a host or an address.`, "Give that of the first node.");
  }
  const own = masterAddr === undefined || ["localhost", "127.0.0.1", "::1"].includes(masterAddr);
  if (nodes === 1 || (nodes === undefined && own)) return undefined;
  if (masterAddr === undefined) {
    if (masterPort === undefined) return undefined;
    throw invalidConfig(
      `--master_port ${masterPort} needs the address of the first node.`,
      `Add --master_addr, or --set backend.rendezvous=HEAD_NODE:${masterPort}.`,
    );
  }
  return rendezvous({ address: masterAddr, port: masterPort ?? 29_500 });
}

function number(flag: string, value: string): number {
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value);
  throw invalidConfig(
    `${flag} is ${value}, which is not a number of ${flag === "--nnodes" ? "machines" : "processes"}.`,
    flag === "--nnodes"
      ? "Give one number: a run has the same machines from its start to its end."
      : "Give the number of cards of this machine.",
  );
}

function strategyOf(name: string): string {
  const known = { ddp: "ddp", fsdp: "fsdp", fsdp2: "fsdp", deepspeed: "fsdp" }[name.toLowerCase()];
  if (known !== undefined) return known;
  throw invalidConfig(
    `--strategy ${name} is not a strategy of the PyTorch backend${name.toLowerCase() === "megatron" ? `: ${noMegatron}` : ""}.`,
    "Use ddp or fsdp. fsdp2 and deepspeed are fsdp.",
  );
}
