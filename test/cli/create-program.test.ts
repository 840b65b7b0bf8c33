import { CommanderError } from "commander";
import { describe, expect, it } from "vitest";
import type { CaptureArguments } from "../../cli/capture-program.ts";
import type { CheckArguments } from "../../cli/check-program.ts";
import {
  type CollectArguments,
  createProgram,
  type ExportArguments,
  type InfoArguments,
  type InitArguments,
  type PlayArguments,
  type ReportArguments,
  type TrainArguments,
} from "../../cli/create-program.ts";
import type { CompareArguments, EvalArguments, RescoreArguments } from "../../cli/eval-program.ts";
import { exitCodeOf } from "../../cli/exit-code.ts";
import type { ExportHarborArguments } from "../../cli/export-harbor-program.ts";
import type { ExportPythonArguments } from "../../cli/export-python-program.ts";
import type { MigrateArguments } from "../../cli/migrate-program.ts";
import type { PlanArguments } from "../../cli/plan-program.ts";
import type { ServeModelArguments } from "../../cli/serve-model-program.ts";
import type { ServeArguments } from "../../cli/serve-program.ts";
import type { SetupTorchArguments } from "../../cli/setup-command.ts";
import type { TorchNodeArguments } from "../../cli/torch-node-command.ts";
import type { ViewArguments } from "../../cli/view-program.ts";

/** Parses a command line and returns the parsed command, or the error. */
async function parse(...argv: string[]) {
  const calls: (
    | { train: TrainArguments }
    | { report: ReportArguments }
    | { init: InitArguments }
    | { check: CheckArguments }
    | { play: PlayArguments }
    | { collect: CollectArguments }
    | { eval: EvalArguments }
    | { compare: CompareArguments }
    | { rescore: RescoreArguments }
    | { view: ViewArguments }
    | { capture: CaptureArguments }
    | { exportPython: ExportPythonArguments }
    | { exportHarbor: ExportHarborArguments }
    | { serve: ServeArguments }
    | { serveModel: ServeModelArguments }
    | { plan: PlanArguments }
    | { migrate: MigrateArguments }
    | { export: ExportArguments }
    | { info: InfoArguments }
    | { setupTorch: SetupTorchArguments }
    | { torchNode: TorchNodeArguments }
  )[] = [];
  let output = "";
  const program = createProgram(
    {
      train: async (train) => void calls.push({ train }),
      report: async (report) => void calls.push({ report }),
      init: async (init) => void calls.push({ init }),
      check: async (check) => void calls.push({ check }),
      play: async (play) => void calls.push({ play }),
      collect: async (collect) => void calls.push({ collect }),
      eval: async (args) => void calls.push({ eval: args }),
      compare: async (compare) => void calls.push({ compare }),
      rescore: async (rescore) => void calls.push({ rescore }),
      view: async (view) => void calls.push({ view }),
      capture: async (capture) => void calls.push({ capture }),
      exportPython: async (exportPython) => void calls.push({ exportPython }),
      exportHarbor: async (exportHarbor) => void calls.push({ exportHarbor }),
      serve: async (serve) => void calls.push({ serve }),
      serveModel: async (serveModel) => void calls.push({ serveModel }),
      plan: async (plan) => void calls.push({ plan }),
      migrate: async (migrate) => void calls.push({ migrate }),
      export: async (args) => void calls.push({ export: args }),
      info: async (info) => void calls.push({ info }),
      setupTorch: async (setupTorch) => void calls.push({ setupTorch }),
      torchNode: async (torchNode) => void calls.push({ torchNode }),
    },
    { version: "1.2.3" },
  );
  const write = (text: string): void => {
    output += text;
  };
  for (const command of [program, ...program.commands]) command.configureOutput({ writeOut: write, writeErr: write });
  const error = await program.parseAsync(argv, { from: "user" }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { calls, output, error, program };
}

describe("lyceum train", () => {
  it("takes a config, overrides in order, an output folder and --resume", async () => {
    const { calls } = await parse(
      "train",
      "--config",
      "a.yaml",
      "--set",
      "a.b=c",
      "-s",
      "d=[1, 2]",
      "--resume",
      "-o",
      "out",
    );
    expect(calls).toEqual([{ train: { config: "a.yaml", set: ["a.b=c", "d=[1, 2]"], resume: true, output: "out" } }]);
  });

  it("has no overrides, no resumption and no output by default, in each parse", async () => {
    await parse("train", "-c", "x", "-s", "a=1");
    const { calls } = await parse("train", "-c", "a.yaml");
    expect(calls).toEqual([{ train: { config: "a.yaml", set: [], resume: false } }]);
  });

  it("uses train.yaml if no config is given", async () => {
    expect((await parse("train")).calls).toMatchObject([{ train: { config: "train.yaml" } }]);
  });

  it("accepts overrides that begin with a dash or contain spaces and equals signs", async () => {
    const { calls } = await parse("train", "-c", "a", "--set=-x=1", "--set", 'sampling.stop=["a = b"]');
    expect(calls).toMatchObject([{ train: { set: ["-x=1", 'sampling.stop=["a = b"]'] } }]);
  });
});

describe("lyceum report", () => {
  it("takes a folder", async () => {
    expect((await parse("report", "runs/a b")).calls).toEqual([{ report: { folder: "runs/a b" } }]);
  });
});

describe("lyceum init", () => {
  it("takes a name", async () => {
    expect((await parse("init", "my-env")).calls).toEqual([{ init: { name: "my-env" } }]);
  });
});

describe("lyceum check", () => {
  it("takes an environment, and has a default for everything else", async () => {
    const defaults = {
      environment: "math",
      set: [],
      skip: [],
      tasks: 3,
      episodes: 10,
      seed: 0,
      callSeconds: 60,
      judgeRequests: 10,
      all: false,
    };
    expect((await parse("check", "math")).calls).toEqual([{ check: defaults }]);
    const all =
      "check ./e.ts -s a=1 --split test -n 2 --episodes 4 --seed 3 --skip x --skip y --call-seconds 5 --judge j --judge-requests 4".split(
        " ",
      );
    expect((await parse(...all)).calls).toEqual([
      {
        check: {
          environment: "./e.ts",
          set: ["a=1"],
          split: "test",
          tasks: 2,
          episodes: 4,
          seed: 3,
          skip: ["x", "y"],
          callSeconds: 5,
          judge: "j",
          judgeRequests: 4,
          all: false,
        },
      },
    ]);
  });
});

describe("lyceum play", () => {
  it("takes an environment, and has a default for everything else", async () => {
    const model = { modelOption: [], backend: "onnx", device: "auto", temperature: 1, maxTokens: 256 };
    const defaults = { environment: "math", set: [], task: 0, seed: 0, ...model };
    expect((await parse("play", "math")).calls).toEqual([{ play: defaults }]);
    const all = "play ./e.ts -s a=1 --set b=2 --agent pro --split test --task 7 --seed 3".split(" ");
    expect((await parse(...all)).calls).toEqual([
      {
        play: {
          ...defaults,
          environment: "./e.ts",
          set: ["a=1", "b=2"],
          agent: "pro",
          split: "test",
          task: 7,
          seed: 3,
        },
      },
    ]);
    const watched = "play math -m a=runs/a --model b=runs/b --base base --device cpu -M x=1".split(" ");
    expect((await parse(...watched)).calls).toEqual([
      {
        play: {
          ...defaults,
          model: ["a=runs/a", "b=runs/b"],
          base: "base",
          backend: "onnx",
          device: "cpu",
          modelOption: ["x=1"],
        },
      },
    ]);
  });
});

describe("lyceum collect", () => {
  it("takes an environment and a file, and has a default for everything else", async () => {
    const defaults = {
      policy: "demonstration",
      resume: false,
      backend: "onnx",
      device: "auto",
      group: 1,
      temperature: 1,
      maxTokens: 256,
    };
    const rest = { set: [], modelOption: [], concurrency: 64, seed: 0 };
    expect((await parse("collect", "-e", "math", "-o", "f.jsonl")).calls).toEqual([
      { collect: { env: "math", output: "f.jsonl", ...defaults, ...rest } },
    ]);
    const chosen = "-p model -m folder --split test -n 8 -g 4 --min-reward=-0.5 --temperature 0".split(" ");
    expect((await parse("collect", "-e", "math", "-o", "f.jsonl", ...chosen)).calls).toMatchObject([
      {
        collect: {
          policy: "model",
          model: ["folder"],
          split: "test",
          episodes: 8,
          group: 4,
          minReward: -0.5,
          temperature: 0,
        },
      },
    ]);
  });

  it("takes sampling settings and episode limits, like eval", async () => {
    const words =
      "--top-p 0.9 --top-k 5 --min-p 0.1 --stop END --stop DONE --limit-turns 3 --limit-tokens 99 --limit-seconds 1.5 -M revision=main";
    const told = {
      ...{ topP: 0.9, topK: 5, minP: 0.1, stop: ["END", "DONE"], modelOption: ["revision=main"] },
      ...{ limitTurns: 3, limitTokens: 99, limitSeconds: 1.5 },
    };
    expect((await parse("collect", "-e", "math", "-o", "f.jsonl", ...words.split(" "))).calls).toMatchObject([
      { collect: told },
    ]);
    expect((await parse("eval", "-e", "math", "-m", "m", ...words.split(" "))).calls).toMatchObject([{ eval: told }]);
  });

  it.each([
    ["--top-p", "0"],
    ["--top-p", "1.1"],
    ["--top-k", "0"],
    ["--min-p", "-1"],
    ["--stop", ""],
    ["--limit-turns", "0"],
    ["--limit-seconds", "0"],
  ])("refuses %s %j", async (...words) => {
    expect((await parse("collect", "-e", "math", "-o", "f.jsonl", ...words)).calls).toEqual([]);
  });
});

describe("lyceum export", () => {
  it("takes a model and a folder", async () => {
    expect((await parse("export", "runs/a", "-o", "out")).calls).toEqual([
      { export: { model: "runs/a", output: "out", merged: false } },
    ]);
    expect((await parse("export", "runs/a", "--merged", "--base", "b", "-o", "out")).calls).toEqual([
      { export: { model: "runs/a", output: "out", merged: true, base: "b" } },
    ]);
  });
});

describe("lyceum export-harbor", () => {
  it("takes an environment, its options, a split, an image and a folder", async () => {
    expect((await parse("export-harbor", "code", "-o", "out")).calls).toEqual([
      { exportHarbor: { environment: "code", set: [], output: "out" } },
    ]);
    const { calls } = await parse("export-harbor", "code", "-s", "a=1", "--split", "x", "--image", "i", "-o", "out");
    expect(calls).toEqual([
      { exportHarbor: { environment: "code", set: ["a=1"], split: "x", image: "i", output: "out" } },
    ]);
  });
});

describe("lyceum export-python", () => {
  it("takes an environment with its options, a folder and a name", async () => {
    expect((await parse("export-python", "math", "-o", "out")).calls).toEqual([
      { exportPython: { environment: "math", set: [], output: "out", space: false } },
    ]);
    expect(
      (await parse("export-python", "./a.ts", "-s", "b=1", "-s", "c=2", "-o", "out", "--name", "d", "--space")).calls,
    ).toEqual([
      { exportPython: { environment: "./a.ts", set: ["b=1", "c=2"], output: "out", name: "d", space: true } },
    ]);
  });
});

describe("lyceum capture", () => {
  it("parses its options", async () => {
    const defaults = { modelOption: [], backend: "onnx", device: "auto", host: "127.0.0.1", maxSessions: 4096 };
    expect((await parse("capture", "-m", "runs/a")).calls).toEqual([{ capture: { ...defaults, model: ["runs/a"] } }]);
    const all =
      "capture -m m --base b -M tokenIds=true --device cpu --quantize 8 --port 8000 --host ::1 --admin-key k --temperature 1 --max-tokens 9 --max-model-calls 3 --max-sessions 5";
    expect((await parse(...all.split(" "))).calls).toEqual([
      {
        capture: {
          ...{
            model: ["m"],
            base: "b",
            modelOption: ["tokenIds=true"],
            backend: "onnx",
            device: "cpu",
            quantize: 8,
            port: 8000,
            host: "::1",
          },
          ...{ adminKey: "k", temperature: 1, maxTokens: 9, maxModelCalls: 3, maxSessions: 5 },
        },
      },
    ]);
  });
});

describe("lyceum serve", () => {
  it("takes environments by commas, and has defaults", async () => {
    const defaults = {
      ...{ set: [], host: "127.0.0.1", maxSessions: 256, callTimeout: 240, idleTimeout: 900, drainTimeout: 30 },
      ...{ heartbeat: 20, maxMessage: 16, modelOption: [], backend: "onnx", device: "auto" },
    };
    expect((await parse("serve", "-e", "math, ./mine.ts,")).calls).toEqual([
      { serve: { ...defaults, environments: ["math", "./mine.ts"] } },
    ]);
    const all =
      "serve --environments a --set x=1 --port 8000 --host ::1 --token t --tls-cert c --tls-key k --max-sessions 5 --workers 3 --call-timeout 8 --idle-timeout 6 --drain-timeout 7 --heartbeat 9 --max-message 2 --grpc-port 8001 -m a=m --model b=n --base o -M revision=r --device cpu";
    expect((await parse(...all.split(" "))).calls).toEqual([
      {
        serve: {
          ...{ environments: ["a"], set: ["x=1"], port: 8000, host: "::1", token: "t", tlsCert: "c", tlsKey: "k" },
          ...{ maxSessions: 5, workers: 3, callTimeout: 8, idleTimeout: 6, drainTimeout: 7, grpcPort: 8001 },
          ...{ heartbeat: 9, maxMessage: 2 },
          ...{ model: ["a=m", "b=n"], base: "o", modelOption: ["revision=r"], backend: "onnx", device: "cpu" },
        },
      },
    ]);
  });
});

describe("lyceum plan", () => {
  const defaults = {
    ...{ config: "train.yaml", set: [], gpus: 1, precision: "bfloat16" },
    ...{ microBatch: 4, decodeBatch: 256, keepActivations: false, json: false },
  };

  it("plans train.yaml on this machine by default", async () => {
    expect((await parse("plan")).calls).toEqual([{ plan: defaults }]);
  });

  it("takes the hardware, its price and the lengths", async () => {
    const all =
      "plan a.yaml -s seed=2 --device h100 --gpus 8 --price 2.5 --shape config.json --prompt-tokens 100 --completion-tokens 200 --turns 3 --agents 2 --precision float16 --micro-batch 2 --decode-batch 64 --keep-activations --json";
    expect((await parse(...all.split(" "))).calls).toEqual([
      {
        plan: {
          ...{ config: "a.yaml", set: ["seed=2"], device: "h100", gpus: 8, price: 2.5, shape: "config.json" },
          ...{ promptTokens: 100, completionTokens: 200, turns: 3, agents: 2, precision: "float16" },
          ...{ microBatch: 2, decodeBatch: 64, keepActivations: true, json: true },
        },
      },
    ]);
  });

  it("refuses unknown devices and negative prices", async () => {
    expect((await parse("plan", "--device", "h1000")).output).toMatch(/Allowed choices are cpu, h100/);
    expect((await parse("plan", "--price", "-1")).output).toMatch(/at least 0/);
  });
});

describe("lyceum serve-model", () => {
  it("takes a model, and has defaults", async () => {
    const limits = { maxModels: 16, sessionTimeout: 600, drainTimeout: 30 };
    const defaults = { name: [], backend: "onnx", device: "auto", host: "127.0.0.1", ...limits };
    expect((await parse("serve-model", "m")).calls).toEqual([{ serveModel: { ...defaults, model: "m" } }]);
    const all =
      "serve-model m --name a --name b --chat-template none --device cpu --port 80 --host h --token t --tls-cert c --tls-key k --checkpoints f --max-models 2 --session-timeout 3 --drain-timeout 4";
    expect((await parse(...all.split(" "))).calls).toEqual([
      {
        serveModel: {
          ...{
            model: "m",
            name: ["a", "b"],
            chatTemplate: "none",
            backend: "onnx",
            device: "cpu",
            port: 80,
            host: "h",
            token: "t",
          },
          ...{ tlsCert: "c", tlsKey: "k", checkpoints: "f", maxModels: 2, sessionTimeout: 3, drainTimeout: 4 },
        },
      },
    ]);
  });
});

describe("lyceum view", () => {
  it("takes a folder, and has a default for everything", async () => {
    const defaults = { folder: "runs", open: false, episodes: 200 };
    expect((await parse("view")).calls).toEqual([{ view: defaults }]);
    const all = "view runs/a --port 8000 --open --export r.html --episodes 7 --tokenizer m".split(" ");
    expect((await parse(...all)).calls).toEqual([
      { view: { folder: "runs/a", port: 8000, open: true, export: "r.html", episodes: 7, tokenizer: "m" } },
    ]);
  });
});

describe("lyceum torch-node", () => {
  it("takes its place among the machines", async () => {
    const { calls } = await parse(
      ..."torch-node --node 1 --nodes 2 --processes 4 --rendezvous 10.0.0.1:29500".split(" "),
    );
    expect(calls).toEqual([{ torchNode: { node: 1, nodes: 2, processes: 4, rendezvous: "10.0.0.1:29500" } }]);
  });
});

describe("lyceum setup", () => {
  it("takes the build of PyTorch", async () => {
    const { calls } = await parse("setup", "torch", "--cuda", "12");
    expect(calls).toEqual([{ setupTorch: { cuda: "12", python: "python3" } }]);
  });

  it.each([
    [["setup"]],
    [["setup", "tensorflow"]],
    [["setup", "torch", "--cuda", "11"]],
  ])("refuses %j", async (args) => {
    expect((await parse(...args)).calls).toEqual([]);
  });
});

describe("lyceum info", () => {
  it("takes --json and --keys", async () => {
    expect((await parse("info")).calls).toEqual([{ info: { json: false, keys: false } }]);
    expect((await parse("info", "--json")).calls).toEqual([{ info: { json: true, keys: false } }]);
    expect((await parse("info", "--keys")).calls).toEqual([{ info: { json: false, keys: true } }]);
  });
});

describe("lyceum", () => {
  it("prints its version and its help, which documents the exit codes", async () => {
    const version = await parse("--version");
    expect(version.output).toBe("1.2.3\n");
    expect(exitCodeOf(version.error)).toBe(0);
    const help = await parse("--help");
    expect(help.output).toMatch(/Exit codes:\n {2}0 .*\n {2}1 .*\n {2}2 .*\n {2}130 /);
    expect(exitCodeOf(help.error)).toBe(0);
  });

  it("takes --debug before or after the command", async () => {
    for (const argv of [
      ["--debug", "info"],
      ["info", "--debug"],
    ]) {
      const { program, calls } = await parse(...argv);
      expect(calls, argv.join(" ")).toHaveLength(1);
      expect(program.opts().debug, argv.join(" ")).toBe(true);
    }
  });

  it.each([
    [[], "Usage: lyceum"],
    [["trian"], "Did you mean train?"],
    [["play"], "missing required argument 'environment'"],
    [["play", "math", "--task", "-1"], "Expected a whole number"],
    [["play", "math", "--seed", "1e3"], "Expected a whole number"],
    [["collect", "-o", "f"], "required option '-e, --env <environment>'"],
    [["collect", "-e", "math"], "required option '-o, --output <file>'"],
    [["collect", "-e", "math", "-o", "f", "-p", "models"], "Allowed choices are demonstration, model"],
    [["collect", "-e", "math", "-o", "f", "-n", "0"], "Expected a whole number above 0"],
    [["collect", "-e", "math", "-o", "f", "--min-reward", "high"], "Expected a number"],
    [["init"], "missing required argument 'name'"],
    [["train", "--config"], "argument missing"],
    [["train", "-c", "a", "--resum"], "Did you mean --resume?"],
    [["train", "-c", "a", "extra"], "too many arguments"],
    [["train", "-c", "a", "--set"], "argument missing"],
    [["view", "--port", "65536"], "Expected a port"],
    [["view", "--episodes", "0"], "Expected a whole number above 0"],
    [["report"], "missing required argument 'folder'"],
  ])("refuses %j with exit code 2 and says why", async (argv, words) => {
    const { error, output, calls } = await parse(...argv);
    expect(error).toBeInstanceOf(CommanderError);
    expect(exitCodeOf(error)).toBe(2);
    expect(output).toContain(words);
    expect(calls).toEqual([]);
  });
});

describe("a value without text", () => {
  it.each([
    [["eval", "gsm8k", "-m", "a", "-o", "b", "--judge", ""], "--judge"],
    [["eval", "gsm8k", "-m", "", "-o", "b"], "--model"],
    [["eval", "gsm8k", "-m", "a", "-m", " ", "-o", "b"], "--model"],
    [["eval", "", "-m", "a", "-o", "b"], "benchmarks"],
    [["eval", "-e", "", "-m", "a", "-o", "b"], "--env"],
    [["eval", "gsm8k", "-m", "a", "-o", ""], "--output"],
    [["eval", "gsm8k", "-m", "a", "-o", "b", "--opponent", "\t"], "--opponent"],
    [["check", ""], "environment"],
    [["check", "math", "--split", ""], "--split"],
    [["play", "math", "--judge", ""], "--judge"],
    [["collect", "-e", "math", "-o", ""], "--output"],
    [["train", "-c", ""], "--config"],
    [["report", ""], "folder"],
    [["serve", "--token", ""], "--token"],
    [["serve-model", "a", "--host", ""], "--host"],
  ])("is refused by the name of its option: %j", async (argv, name) => {
    const { calls, error } = await parse(...argv);
    expect(calls).toEqual([]);
    expect(error).toMatchObject({ code: "config.invalid", message: `${name} has no value: its text is empty.` });
    expect(exitCodeOf(error)).toBe(2);
  });
});
