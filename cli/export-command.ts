import { join } from "node:path";
import { visibleText } from "../src/core/text/visible-text.ts";
import type { ExportFormat } from "../trainers/backend/training-backend.ts";
import { exportModel } from "../trainers/models/export-model.ts";
import { openModels } from "../trainers/models/open-models.ts";
import type { CommandContext } from "./command-context.ts";
import type { ExportArguments } from "./create-program.ts";
import { refuseFullFolder } from "./refuse-full-folder.ts";
import { createSharedEngine } from "./shared-engine.ts";

/**
 * Runs `lyceum export`: writes a model to a new folder. An adapter that is not merged becomes a PEFT adapter,
 * everything else a Hugging Face folder. Each agent of a team gets a folder with its name. Throws `config.invalid` if
 * the folder is not empty, and the errors of `openModels` and `exportModel`.
 */
export async function exportCommand(
  args: ExportArguments,
  options: Omit<CommandContext, "environment">,
): Promise<void> {
  const { model: path, output, merged, base, dtype } = args;
  const { catalog, signal } = options;
  await refuseFullFolder(output);
  // Export does no computation that another device would speed up.
  await using engine = createSharedEngine({ catalog, engine: { type: "onnx", device: "cpu" } });
  const models = await openModels(path, { backend: await engine.backend(), base, signal });
  for (const { agent, model } of models) {
    signal.throwIfAborted();
    const folder = agent === undefined ? output : join(output, encodeURIComponent(agent));
    const format: ExportFormat = model.isAdapter && !merged ? "peft" : "huggingface";
    await exportModel({ model, folder, format, dtype });
    const what = format === "peft" ? "a PEFT adapter" : "a Hugging Face folder";
    options.output.write(visibleText(`${folder}: ${what}\n`));
  }
}
