/**
 * Describes a family of decoders: the parts of its blocks, and their names in its checkpoints. Graphs, adapters,
 * weights and exports read this table, so a family whose blocks have the same order of parts needs no other code.
 */
export interface Architecture {
  /** The class of `transformers` that loads the checkpoint. */
  readonly className: string;
  /** The module that contains everything but the output head. The names below are relative to it. */
  readonly body: string;
  readonly embedding: string;
  /** The table of learned positions. If absent, positions are rotary. */
  readonly positionEmbedding?: string;
  /** The name of the list of blocks. */
  readonly blocks: string;
  readonly finalNorm: string;
  /**
   * rms: root mean square norm, without bias. rms-offset: the same, multiplied by 1 + weight. layer: layer norm (mean
   * and variance), with bias.
   */
  readonly norm: "rms" | "rms-offset" | "layer";
  /** True if embeddings are multiplied by the square root of the model's width. */
  readonly scaledEmbedding?: boolean;
  /** True if layers with a window have rotary frequencies of their own. */
  readonly windowRope?: boolean;
  /** Names within a block. */
  readonly attention: {
    readonly norm: string;
    /** Three linear layers for queries, keys and values, or one layer that returns all three in this order. */
    readonly inputs: readonly string[];
    readonly inputBias: Bias;
    /** Norms over each head of the queries and of the keys. If absent, there are none. */
    readonly headNorms?: { readonly queries: string; readonly keys: string };
    readonly output: string;
    readonly outputBias: Bias;
    /** A norm of the output, before it is added to the hidden state. If absent, there is none. */
    readonly outputNorm?: string;
  };
  /** Names within a block. */
  readonly mlp: {
    readonly norm: string;
    /** The gate and the hidden layer of a gated unit, as two linear layers or as one. Else one plain hidden layer. */
    readonly inputs: readonly string[];
    readonly gated: boolean;
    readonly output: string;
    /** As that of the attention. */
    readonly outputNorm?: string;
    readonly bias: Bias;
    /** The hidden layer's width as a multiple of the model's width, if `config.json` has no width. */
    readonly expansion?: number;
  };
  /** True if checkpoints store the matrices of linear layers as (inputs, outputs). */
  readonly transposed: boolean;
  /** The layers that only attend to the last `sliding_window` tokens. If absent, there are none. */
  readonly window?: "every layer" | "from max_window_layers" | "layers without positions" | "by sliding_window_pattern";
  /** The keys of `config.json` whose name differs from Llama's. */
  readonly keys?: Readonly<Record<string, string>>;
  /** The values of keys that `config.json` may omit, by Llama's name. */
  readonly defaults: Readonly<Record<string, number | string | boolean>>;
  /** Options of `config.json` that change the computation, with the only value that is supported. */
  readonly fixed?: Readonly<Record<string, unknown>>;
}

/** Whether linear layers have a bias: always, never, or by the value of this key of `config.json`. */
export type Bias = boolean | string;
