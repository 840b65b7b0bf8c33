import { llmCollabKeys } from "../cli/migrate/llm-collab-keys.ts";
import { mrlmEnvironmentKeys } from "../cli/migrate/mrlm-environment-keys.ts";
import { mrlmKeys } from "../cli/migrate/mrlm-keys.ts";
import { oldEnvironmentNames, oldFlags } from "../cli/migrate/old-flags.ts";
import type { OldKey } from "../cli/migrate/old-key.ts";
import { trainerSections } from "../cli/migrate/trainer-sections.ts";
import { comlrlNames, mrlmNames, type PythonName } from "./python-names.ts";

/** Returns the lines of docs/migrate.md, from the tables that `lyceum migrate` and the overrides use. */
export function migrationPage(): string[] {
  return [
    "MRLM, CoMLRL and LLM_Collab (LLM_Collaboration_with_MARL, LLM_Collab_Code_Generation, LLM_Collab_Code_Completion and",
    "LLM_Collab_Writing) are Python programs for the same work. Their command lines run with `lyceum` in place of the",
    "program, and their config files are converted once:",
    "",
    "```text",
    "lyceum migrate configs/mt_magrpo_he_config.yaml --output mt-magrpo.yaml",
    "lyceum train --config mt-magrpo.yaml --override magrpo.num_turns=2 external.mode=passed",
    "```",
    "",
    "In the new file, a comment next to each key names the old key, and a comment above a key describes differences. A key",
    "without a counterpart is printed and listed in the first comment, with the reason. A key is listed as without effect if",
    "it had none in the old program, or if Lyceum always behaves that way. Every key of the old file is in one of these",
    "places. The new file loads unchanged. Without `--output` it is printed. If the file does not show which system it",
    "belongs to, add `--from mrlm` or `--from llm-collab`.",
    "",
    "Values are read as in Python: `None`, `True`, `yes`, numbers in quotes, lists and tuples written as text, `<<: *name`.",
    "If a key occurs twice, the last one counts. If a default of the old scripts differs from Lyceum's, it is in the new",
    "file too, with the comment `the default of ...`. There are two exceptions. Lyceum clips gradients at",
    "`training.clipNorm` (1 by default), and MAGRPO and its variants do not. Newer versions of CoMLRL decay weights by 0.01,",
    "PyTorch's default, which is `training.weightDecay` here.",
    "",
    "Passes over the data (`num_train_epochs`) become steps, or `training.epochs` if the number of tasks is only known once",
    "the data is read.",
    "",
    "## Commands",
    "",
    "| old | new |",
    "|---|---|",
    "| `mrlm train` | `lyceum train` |",
    "| `python .../train_magrpo.py`, `train_grpo.py` and the other training scripts | `lyceum train` |",
    "| `mrlm eval` | `lyceum eval` |",
    "| `mrlm collect` | `lyceum collect` |",
    "| `mrlm info` | `lyceum info` |",
    "| `mrlm serve` | `lyceum serve`: training and evaluation run an environment without a server, too |",
    "| `torchrun ... train.py`, on the first node | `lyceum train` with the flags of torchrun: [Several GPUs](clusters.md#the-distributed-keys-of-mrlm) |",
    "| `torchrun --node_rank=N ... train.py`, on another node | `lyceum torch-node --node N` |",
    "",
    "## Flags",
    "",
    "| command | old | new | |",
    "|---|---|---|---|",
    ...oldFlags.map(({ command, flag, now, note = "" }) => row([command, code(flag), code(now), note])),
    "",
    `Environments keep their names, except ${Object.entries(oldEnvironmentNames)
      .map(([old, now]) => `\`${old}\`, which is \`${now}\``)
      .join(", ")}.`,
    "",
    "## Models and policies",
    "",
    "The output of a run can be used as a model everywhere ([Round trip](round-trip.md)), and so can the output of the old",
    "programs:",
    "",
    "| old | new |",
    "|---|---|",
    "| a folder or hub id in the format of `transformers` | the same path or id, in `model.path` and `--model` |",
    "| an adapter that peft wrote | its folder: the base model is the one that it names, or `base` ([Checkpoints](checkpoints.md)) |",
    "| `agent_0`, `agent_1` of `save_model`, to evaluate | `--model aux=agent_0 --model main=agent_1` ([a model for each agent](policies.md#a-model-for-each-agent)) |",
    "| `agent_0`, `agent_1`, to train on | `model.path` for the first agent, `agents.models.main` for the other |",
    "| `agents: [one, other]` | `model.path`, and `agents.models` for the others, each with its own `adapter` |",
    "| `gpt2`, `distilgpt2` | `openai-community/gpt2`, `distilbert/distilgpt2`: hub ids have an owner; `model.chatTemplate: none` |",
    "| `bigcode/starcoder2-3b` | the same, with `model.chatTemplate: none` |",
    "| prompts as plain text, as CoMLRL gives them | `model.chatTemplate: none`; by default the model's chat template is used |",
    "| `external.expert_model: claude-...`, `deepseek-...`, `qwen...` | `environment.expert: anthropic:claude-...`, `deepseek:...`, an address ([Policies](policies.md)) |",
    "| `LLMEnvironment(mode=CLIENT)`, the other side of a debate | `agents.policies`, a judge or an opponent: `openai:gpt-5-mini`, a folder, a script ([Policies](policies.md)) |",
    "| `use_lora`, `lora` | `model.adapter: { type: lora, rank, alpha, targets, dropout }`; each agent has its own adapter |",
    "| `lora_dropout` | `model.adapter.dropout`: it drops inputs in `sft`, never while log-probabilities for ratios are computed |",
    "| `top_p`, `top_k` | `sampling.topP`, `sampling.topK`: training learns from the distribution that was sampled |",
    "",
    "## Keys of MRLM",
    "",
    "In a file, and after `--set` and `--override`. If the meaning of an override depends on other old keys, it is an error",
    "that names the new key.",
    "",
    ...keyTable(mrlmKeys),
    "",
    "### An entry of `eval_envs`",
    "",
    ...keyTable(mrlmEnvironmentKeys),
    "",
    "## Keys of LLM_Collab, and fields of CoMLRL's config classes",
    "",
    "`*` is the section of the trainer; CoMLRL's config classes (`MAGRPOConfig` and the others) have the same fields.",
    "",
    "| section | algorithm | |",
    "|---|---|---|",
    ...trainerSections.map(({ name, algorithm, note = "" }) => row([code(name), code(String(algorithm.id)), note])),
    "",
    ...keyTable(llmCollabKeys.filter(({ old }) => old !== "*")),
    "",
    "## Classes and arguments of CoMLRL",
    "",
    ...nameTable(comlrlNames),
    "",
    "## Classes of MRLM",
    "",
    ...nameTable(mrlmNames),
  ];
}

function keyTable(rows: readonly OldKey[]): string[] {
  return [
    "| old | new | |",
    "|---|---|---|",
    ...rows.map(({ old, now, server, note = "", noEffect }) => {
      const places = [
        ...(now === undefined ? [] : [codes(now)]),
        ...(server === undefined ? [] : [`of the server: ${server.split(", ").map(code).join(", ")}`]),
      ];
      return row([code(old), places.join("; ") || (noEffect === true ? "no effect" : "none"), note]);
    }),
  ];
}

function nameTable(rows: readonly PythonName[]): string[] {
  return [
    "| Python | Lyceum | |",
    "|---|---|---|",
    ...rows.map(({ name, now = "none", note = "" }) => row([code(name), now, note])),
  ];
}

/** Formats several keys, each as code. */
function codes(text: string): string {
  return text.replaceAll(/[a-zA-Z]+(\.[a-zA-Z0-9]+)+|^[a-z]+$|(?<=, or |^)environments?\b/g, (key) => `\`${key}\``);
}

function code(text: string): string {
  return `\`${text}\``;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
