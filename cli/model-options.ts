import { type Command, InvalidArgumentError, Option } from "commander";
import type { Device } from "../trainers/config/model-config.ts";
import { append } from "./option-values.ts";

const devices: readonly Device[] = ["auto", "cpu", "webgpu", "cuda", "coreml", "dml"];

/** The kinds of models that `--model` takes, for help. */
export const modelKinds =
  "a folder, hub id, GGUF file, run, checkpoint, provider:model, server's URL, policy file or module";

/** The option for the base model of an adapter. */
export function baseOption(): Option {
  const help = "the base model of an adapter (a folder or hub id), instead of the one that the adapter names";
  return new Option("--base <model>", help);
}

/** Adds `--model`, with this description, and the options of the model. */
export function addModelOptions(
  command: Command,
  { description, required = false }: { readonly description: string; readonly required?: boolean },
): Command {
  return command
    .addOption(new Option("-m, --model <model>", description).argParser(append).makeOptionMandatory(required))
    .addOption(baseOption())
    .option(
      "-M, --model-option <option=value>",
      "an option of the model, such as revision=main, templateVariables.enable_thinking=false or maxRetries=2; repeatable",
      append,
      [],
    )
    .addOption(backendOption())
    .addOption(deviceOption())
    .addOption(quantizeOption());
}

/** The option for the engine of local models. */
export function backendOption(): Option {
  const help = "the engine of local models: onnx (embedded) or torch (PyTorch)";
  return new Option("--backend <type>", help).choices(["onnx", "torch"]).default("onnx");
}

/** The option for the device of local models. */
export function deviceOption(): Option {
  return new Option("--device <device>", "the device of local models").choices(devices).default("auto");
}

/** The option for the bits of the weights of local models. */
export function quantizeOption(): Option {
  const help = "the bits of the weights of local models: 8 or 4. An adapter stays in float32";
  return new Option("--quantize <bits>", help).argParser(bits);
}

function bits(value: string): 4 | 8 {
  if (value === "4") return 4;
  if (value === "8") return 8;
  throw new InvalidArgumentError("Allowed choices are 4, 8.");
}
