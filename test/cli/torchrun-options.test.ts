import { expect, it } from "vitest";
import { createProgram, type TrainArguments } from "../../cli/create-program.ts";

/** Returns the changes of the config that a command line of `lyceum train` makes. Throws its error. */
async function changes(line: string): Promise<readonly string[]> {
  let given: TrainArguments | undefined;
  const commands = {
    train: async (args: TrainArguments): Promise<void> => {
      given = args;
    },
  };
  const program = createProgram(commands as never, { version: "0" });
  for (const command of [program, ...program.commands]) command.configureOutput({ writeErr: () => {} });
  await program.parseAsync(["train", ...line.split(" ").filter(Boolean)], { from: "user" });
  expect(Object.keys(given!).toSorted()).toEqual(["config", "resume", "set"]);
  return given!.set;
}

it.each<[string, readonly string[]]>([
  ["", []],
  ["--nproc_per_node=4 --strategy fsdp", ["backend.processes=4", 'backend.strategy="fsdp"']],
  ["--nproc-per-node 4 --strategy FSDP2", ["backend.processes=4", 'backend.strategy="fsdp"']],
  ["--nproc_per_node=2 --strategy deepspeed", ["backend.processes=2", 'backend.strategy="fsdp"']],
  ["--num-gpus 8 --strategy ddp", ["backend.processes=8", 'backend.strategy="ddp"']],
  [
    "--nproc_per_node=4 --nnodes=2 --node_rank=0 --master_addr=10.0.0.1 --master_port=12355",
    ["backend.processes=4", "backend.nodes=2", 'backend.rendezvous="10.0.0.1:12355"'],
  ],
  ["--nnodes 2 --master-addr head", ["backend.nodes=2", 'backend.rendezvous="head:29500"']],
  ["--nnodes 2 --master-addr fe80::1", ["backend.nodes=2", 'backend.rendezvous="[fe80::1]:29500"']],
  // One node meets at a free port of its own.
  ["--standalone --nproc_per_node 2", ["backend.processes=2"]],
  ["--standalone", []],
  ["--nnodes=1 --nproc_per_node=2 --master_addr=10.0.0.1 --master_port=1", ["backend.processes=2", "backend.nodes=1"]],
  ["--nproc_per_node=2 --master_addr=localhost --master_port=29501", ["backend.processes=2"]],
  ["--nproc_per_node=2 --master_port=29501", ["backend.processes=2"]],
])("the flags of torchrun, %j, change the config", async (line, expected) => {
  expect(await changes(line)).toEqual(line === "" ? [] : ["backend.type=torch", ...expected]);
});

it("changes of the command line come after them, so that they win", async () => {
  expect(await changes("--set backend.processes=1 --nproc_per_node 4 -s seed=2")).toEqual([
    ...["backend.type=torch", "backend.processes=4", "backend.processes=1", "seed=2"],
  ]);
});

it.each([
  [
    "--nproc_per_node 4 --nnodes 3 --node_rank 2 --master_addr 10.0.0.1",
    "lyceum torch-node --node 2 --nodes 3 --processes 4 --rendezvous 10.0.0.1:29500",
  ],
  ["--gpu-ids 0,1,2", "CUDA_VISIBLE_DEVICES=0,1,2 lyceum train ... --nproc_per_node 3"],
  ["--gpu_ids 0 3", "CUDA_VISIBLE_DEVICES=0,3 lyceum train ... --nproc_per_node 2"],
  ["--nproc_per_node gpu", "number of cards"],
  ["--nproc_per_node 0", "number of cards"],
  ["--nnodes 1:4", "from its start to its end"],
  ["--nnodes 2 --master_addr a/b", "not a host"],
  ["--nnodes 2 --master_port 29501", "needs the address"],
  ["--strategy megatron", "SkyRL has Megatron"],
  ["--strategy horovod", "Use ddp or fsdp"],
])("%s is refused with what to do", async (line, said) => {
  const error = await changes(line).then(
    () => new Error("accepted"),
    (thrown: Error & { hint?: string }) => thrown,
  );
  expect(error).toMatchObject({ code: "config.invalid" });
  expect(`${error.message} ${(error as { hint?: string }).hint}`).toContain(said);
});
