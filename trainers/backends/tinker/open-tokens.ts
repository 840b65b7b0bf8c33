import type { JsonObject } from "../../../src/contract/json.ts";
import { readModelJson } from "../../../src/core/tokens/model-file.ts";
import type { ModelSource } from "../../backend/training-backend.ts";
import { readDecoderConfig } from "../../model-folders/architecture/decoder-config.ts";
import { adaptableLayers } from "../../model-folders/architecture/lora-layers.ts";
import { type OpenedSource, openSource } from "../shared/open-source.ts";
import { unsupported } from "./tinker-error.ts";

/** The tokens of a model whose weights are on a server. */
export interface RemoteTokens extends Pick<OpenedSource, "tokenizer" | "renderer"> {
  readonly maxLength: number;
  readonly vocabularySize: number;
  /** The number of values of an adapter of rank 1. 0 for a family that is not known here. */
  readonly adapterSize: number;
}

/**
 * Loads the tokenizer, the chat template and the sizes of a model from its folder or from the hub, without its weights.
 * Throws `backend.unsupported` for a model that the server cannot have: random weights, or an adapter.
 */
export async function openTokens(source: ModelSource, signal: AbortSignal | undefined): Promise<RemoteTokens> {
  if (source.type === "scratch") {
    throw unsupported(
      "A server cannot train a model from scratch.",
      "Set model.path to a model that the server has, or train on the embedded engine.",
    );
  }
  const opened = await openSource(source, signal, { weights: false });
  if (opened.source.type !== "folder" || opened.source.adapter !== undefined) {
    throw unsupported(
      `${source.path} is an adapter, which cannot be sent to the server.`,
      "To train, start from its base model, or continue a run on the server with --resume. To evaluate, name a checkpoint folder of such a run or a tinker:// path, or omit --backend-url.",
    );
  }
  const config = (await readModelJson(opened.source.folder, "config.json")) ?? {};
  const { max_position_embeddings: positions, vocab_size: vocabulary } = config;
  const { tokenizer, renderer } = opened;
  return {
    tokenizer,
    renderer,
    maxLength: typeof positions === "number" ? positions : 32_768,
    vocabularySize: typeof vocabulary === "number" ? vocabulary : tokenizer.vocabularySize,
    adapterSize: adapterSize(config),
  };
}

/** Returns the number of values of an adapter of rank 1 on all linear layers. */
function adapterSize(source: JsonObject): number {
  try {
    const config = readDecoderConfig(source);
    return config.layers * adaptableLayers(config).reduce((sum, { inputs, outputs }) => sum + inputs + outputs, 0);
  } catch {
    return 0;
  }
}
