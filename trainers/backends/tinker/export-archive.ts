import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { ModelSource } from "../../backend/training-backend.ts";
import { isHubId } from "../../model-folders/model-folder.ts";
import { writeAdapterBase } from "../../model-folders/weights/adapter-base-file.ts";
import { readPeftAdapter, writePeftAdapter } from "../../model-folders/weights/peft-adapter.ts";
import { readTar } from "./read-tar.ts";
import type { TinkerConnection } from "./tinker-connection.ts";
import { unsupported } from "./tinker-error.ts";

const adapterFiles = ["adapter_config.json", "adapter_model.safetensors"] as const;

/**
 * Downloads the archive of sampler weights and writes it as a PEFT adapter folder. Its config names the base model on
 * this machine, or its hub id, in place of the server's, and the adapted layers, which some servers leave out. Throws
 * `backend.unsupported` if the archive is not a PEFT adapter.
 */
export async function exportArchive(
  connection: TinkerConnection,
  options: { readonly path: string; readonly folder: string; readonly source: ModelSource },
): Promise<void> {
  const { folder, source } = options;
  const [model, name] = [options.path.split("/")[2], options.path.split("/").at(-1)];
  const archive = await connection.download(`training_runs/${model}/checkpoints/${name}/archive`);
  const files = await readTar(archive[0] === 0x1f && archive[1] === 0x8b ? unzipped(archive) : archive);
  const received = await mkdtemp(path.join(tmpdir(), "lyceum-archive-"));
  try {
    for (const file of adapterFiles) {
      const content = files.get(file);
      if (content === undefined) throw noAdapter([...files.keys()]);
      await writeFile(path.join(received, file), content);
    }
    const { config, tensors } = await readPeftAdapter(received);
    const base = source.type === "pretrained" ? source.path : "";
    const isFolder = path.isAbsolute(base) || !isHubId(base);
    const baseModel = isFolder ? path.relative(path.resolve(folder), path.resolve(base)).replaceAll("\\", "/") : base;
    await writePeftAdapter({
      folder,
      config: { ...config, baseModel },
      tensors: [...tensors].map(([tensor, { shape, data }]) => ({ name: tensor, shape, data })),
      writeExtraFiles: async (partial) => {
        if (isFolder) await writeAdapterBase(partial, { path: path.resolve(base) });
      },
    });
  } finally {
    await rm(received, { recursive: true, force: true });
  }
}

/** Trained weights shrink by less than this. */
const mostShrunk = 16;

/** Unpacks an archive. Throws `backend.failed` for one that grows more than weights do, before it fills the memory. */
function unzipped(archive: Buffer): Buffer {
  try {
    return gunzipSync(archive, { maxOutputLength: 2 ** 26 + mostShrunk * archive.length });
  } catch (cause) {
    throw new LyceumError({
      code: "backend.failed",
      message: `The archive of the weights from the server is damaged, or is more than ${mostShrunk} times as large when it is unpacked.`,
      hint: "Check the server, and export the model again.",
      cause,
    });
  }
}

function noAdapter(found: readonly string[]): Error {
  return unsupported(
    `The archive of the server has ${found.join(", ") || "no files"}, not a PEFT adapter.`,
    "Set export.format to none. The weights stay on the server.",
  );
}
