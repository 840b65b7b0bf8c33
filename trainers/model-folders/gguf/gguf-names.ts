import type { DecoderConfig } from "../architecture/decoder-config.ts";
import { embeddingName, finalNormName, moduleName, positionEmbeddingName } from "../architecture/parameters.ts";

/**
 * Returns the name in a GGUF file of a checkpoint's tensor, such as `blk.3.attn_q.weight` for
 * `model.layers.3.self_attn.q_proj.weight`.
 */
export function ggufTensorName(config: DecoderConfig, name: string): string {
  const dot = name.lastIndexOf(".");
  const [module, part] = [name.slice(0, dot), name.slice(dot + 1)];
  const layer = /\.(\d+)\./.exec(module)?.[1];
  const found = layer === undefined ? outerNames(config).get(module) : blockNames(config, Number(layer)).get(module);
  if (found === undefined) throw new Error(`GGUF has no name for ${name}.`);
  return `${found}.${part}`;
}

function outerNames(config: DecoderConfig): ReadonlyMap<string, string> {
  const module = (name: string | undefined): string => name?.replace(/\.weight$/, "") ?? "";
  return new Map([
    [module(embeddingName(config)), "token_embd"],
    [module(positionEmbeddingName(config)), "position_embd"],
    [finalNormName(config), "output_norm"],
    ["lm_head", "output"],
  ]);
}

function blockNames(config: DecoderConfig, layer: number): ReadonlyMap<string, string> {
  const { attention, mlp } = config.architecture;
  const inputs = attention.inputs.length === 1 ? ["attn_qkv"] : ["attn_q", "attn_k", "attn_v"];
  const units = mlp.inputs.length === 1 ? ["ffn_up"] : ["ffn_gate", "ffn_up"];
  const names: (readonly [string | undefined, string])[] = [
    [attention.norm, "attn_norm"],
    ...attention.inputs.map((name, i) => [name, inputs[i]!] as const),
    [attention.headNorms?.queries, "attn_q_norm"],
    [attention.headNorms?.keys, "attn_k_norm"],
    [attention.output, "attn_output"],
    [mlp.norm, "ffn_norm"],
    ...mlp.inputs.map((name, i) => [name, units[i]!] as const),
    [mlp.output, "ffn_down"],
  ];
  return new Map(
    names.flatMap(([name, gguf]) =>
      name === undefined ? [] : [[moduleName(config, layer, name), `blk.${layer}.${gguf}`] as const],
    ),
  );
}
