import { importOptional } from "../optional-package.ts";

/** The used part of `@huggingface/transformers`, an optional package. */
export interface TransformersLibrary {
  readonly Tensor: new (type: "int64", data: BigInt64Array, dims: readonly number[]) => LibraryTensor;
  readonly LogitsProcessorList: new () => LibraryList<(ids: unknown, logits: LibraryTensor) => LibraryTensor>;
  readonly StoppingCriteriaList: new () => LibraryList<(ids: unknown) => readonly boolean[]>;
  readonly AutoModelForCausalLM: {
    from_pretrained(
      folder: string,
      options: { readonly dtype: string; readonly device: string; readonly local_files_only: true },
    ): Promise<LibraryModel>;
  };
}

/** A tensor. Logits have the shape `[1, vocabulary]` and are float32. */
export interface LibraryTensor {
  readonly data: ArrayLike<number | bigint>;
}

interface LibraryList<Item> {
  push(item: Item): void;
}

/** A model with its generation loop. */
export interface LibraryModel {
  readonly config: { readonly max_position_embeddings?: number };
  generate(options: Readonly<Record<string, unknown>>): Promise<unknown>;
  dispose(): Promise<unknown>;
}

/** Loads the library. Throws `config.invalid` if it is not installed. */
export async function loadTransformers(): Promise<TransformersLibrary> {
  const library = await importOptional("@huggingface/transformers", {
    message: "Models in ONNX files need the package @huggingface/transformers, which is not installed.",
    hint: "Run npm install @huggingface/transformers@4. It uses the same onnxruntime-node as Lyceum.",
  });
  return library as unknown as TransformersLibrary;
}
