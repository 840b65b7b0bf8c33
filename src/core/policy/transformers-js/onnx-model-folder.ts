import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LyceumError } from "../../../contract/errors/index.ts";
import { isLocalName, nearPath } from "../../files/missing-path.ts";
import { downloadHubFile, type HubOptions, listHubFiles, resolveHubRevision } from "../../hub/hub.ts";
import { isAdditionalTemplate } from "../../tokens/template-files.ts";

/** The file name suffix of each precision, between `onnx/model` and `.onnx`. */
const suffixes = {
  fp32: "",
  fp16: "_fp16",
  q8: "_quantized",
  int8: "_int8",
  uint8: "_uint8",
  q4: "_q4",
  q4f16: "_q4f16",
  bnb4: "_bnb4",
} as const;

/** A precision of ONNX files on the hub. */
export type OnnxPrecision = keyof typeof suffixes;

/**
 * Returns the folder of a model with its ONNX file in this precision: `model` itself if it is a folder, else the hub
 * model with that id, which is downloaded into the shared cache if necessary. Throws `model.missing`, with the present
 * precisions, and `config.unknown-name` for an unknown precision.
 */
export async function onnxModelFolder(
  model: string,
  options: HubOptions & { readonly precision: OnnxPrecision; readonly revision?: string },
): Promise<string> {
  const { precision, revision, ...hub } = options;
  const wanted = `onnx/model${suffixes[precision]}.onnx`;
  const isFolder = await stat(model).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) {
    const files = await readdir(join(model, "onnx")).catch(() => []);
    checkPresent({ model, wanted, files: files.map((name) => `onnx/${name}`) });
    return model;
  }
  if (isLocalName(model)) {
    throw new LyceumError({
      code: "model.missing",
      message: `There is no folder ${model}.`,
      hint: `${nearPath(model)}Name a folder with ONNX files, or a hub model as owner/name.`,
      data: { model },
    });
  }
  const repository = { repository: model, type: "model" } as const;
  const commit = await resolveHubRevision({ ...repository, revision }, hub);
  const pinned = { ...repository, revision: commit };
  const files = await listHubFiles(pinned, hub);
  checkPresent({ model, wanted, files });
  // A large model's weights are in files next to it: model.onnx_data, model.onnx_data_1, ...
  const isNeeded = (file: string): boolean =>
    /^[^/]+\.(json|jinja|txt|model)$/.test(file) || isAdditionalTemplate(file) || file.startsWith(wanted);
  const needed = files.filter(isNeeded);
  const paths = await Promise.all(needed.map((path) => downloadHubFile({ ...pinned, path }, hub)));
  return dirname(paths[needed.indexOf("config.json")]!);
}

/** Returns the precision with this name. Default: full precision. Throws `config.unknown-name`. */
export function onnxPrecision(name: string = "fp32"): OnnxPrecision {
  if (Object.hasOwn(suffixes, name)) return name as OnnxPrecision;
  const known = Object.keys(suffixes);
  throw new LyceumError({
    code: "config.unknown-name",
    message: `There is no precision "${name}" of ONNX models.`,
    hint: `Known: ${known.join(", ")}.`,
    data: { name, known },
  });
}

function checkPresent(options: {
  readonly model: string;
  readonly wanted: string;
  readonly files: readonly string[];
}): void {
  const { model, wanted, files } = options;
  if (files.includes(wanted)) return;
  const there = Object.entries(suffixes).flatMap(([name, suffix]) =>
    files.includes(`onnx/model${suffix}.onnx`) ? [name] : [],
  );
  throw new LyceumError({
    code: "model.missing",
    message: `The model ${model} has no file ${wanted}.`,
    hint:
      there.length === 0
        ? "Name a model with ONNX files, such as onnx-community/Qwen3-0.6B-ONNX; one with safetensors runs on Lyceum's own engine."
        : `It has the precisions ${there.join(", ")}.`,
    data: { model, wanted, precisions: there },
  });
}
