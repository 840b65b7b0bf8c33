import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ExportFormat } from "../../trainers/backend/training-backend.ts";
import { exportModel } from "../../trainers/models/export-model.ts";
import { openModels } from "../../trainers/models/open-models.ts";
import { LyceumError } from "../contract/errors/index.ts";
import { visibleText } from "../reports/training/visible-text.ts";
import type { ExportArguments } from "./create-program.ts";
import type { Rooms } from "./rooms.ts";
import { createSharedEngine, engineOn } from "./shared-engine.ts";

/**
 * `lyceum export`: writes a model to a new folder, as a PEFT adapter if it is one and is not to be merged, else as a
 * Hugging Face folder; of a team, each agent's to a folder of its name within. Throws `config.invalid` for a folder that
 * has something in it, and as `openModels` and `exportModel` do.
 */
export async function exportCommand(
  args: ExportArguments,
  options: {
    readonly rooms: Pick<Rooms, "createBackend">;
    readonly output: { write(text: string): unknown };
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { model: path, output, merged, base, dtype } = args;
  const { rooms, signal } = options;
  await refuseFull(output);
  // Nothing is computed that another device would speed up.
  await using engine = createSharedEngine({ rooms, config: engineOn("cpu") });
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

/** Throws if something is in the folder: a model that is there would be mixed with the new one. */
async function refuseFull(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) =>
    error.code === "ENOENT" ? [] : [error.code],
  );
  if (names.length === 0) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${folder} is there already, and an export is a new folder.`,
    hint: "Name another folder, or move this one out of the way.",
    data: { folder },
  });
}
