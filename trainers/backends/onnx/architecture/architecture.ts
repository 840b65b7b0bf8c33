/**
 * What the blocks of one family of decoders are made of, and what its checkpoints call the parts. A family is this table
 * and nothing else: graphs, adapters, weights and exports all read it.
 */
export interface Architecture {
  /** The class of `transformers` that loads it. */
  readonly className: string;
  /** The module around everything but the output head. The names below lie within it. */
  readonly body: string;
  readonly embedding: string;
  /** The table of learned positions. Positions are rotary if it is absent. */
  readonly positionEmbedding?: string;
  /** The list of blocks. */
  readonly blocks: string;
  readonly finalNorm: string;
  /** rms: root mean square, without bias. layer: mean and variance, with bias. */
  readonly norm: "rms" | "layer";
  /** Names within a block. */
  readonly attention: {
    readonly norm: string;
    /** One linear layer each for queries, keys and values, or one that gives all three in this order. */
    readonly inputs: readonly string[];
    readonly inputBias: Bias;
    /** Norms over each head of the queries and of the keys. None if absent. */
    readonly headNorms?: { readonly queries: string; readonly keys: string };
    readonly output: string;
    readonly outputBias: Bias;
  };
  /** Names within a block. */
  readonly mlp: {
    readonly norm: string;
    /** Two linear layers, gate and up, make a gated unit. One is a plain hidden layer. */
    readonly inputs: readonly string[];
    readonly output: string;
    readonly bias: Bias;
    /** How many times as wide as the model the hidden layer is if `config.json` names no width. */
    readonly expansion?: number;
  };
  /** Checkpoints store the matrices of linear layers as (inputs, outputs). */
  readonly transposed: boolean;
  /** Which layers look at no more than the last `sliding_window` tokens. None if absent. */
  readonly window?: "every layer" | "from max_window_layers" | "layers without positions";
  /** Keys of `config.json` that have another name than in Llama's. */
  readonly keys?: Readonly<Record<string, string>>;
  /** What a key of Llama's name stands for if `config.json` leaves it out. */
  readonly defaults: Readonly<Record<string, number | string | boolean>>;
  /** Options of `config.json` that change the computation, with the one value that is built. */
  readonly fixed?: Readonly<Record<string, unknown>>;
}

/** Whether linear layers have a bias: always, never, or as a key of `config.json` says. */
export type Bias = boolean | string;
