import type { Architecture } from "./architecture.ts";
import { malformedConfig, unsupportedConfig } from "./config-fields.ts";
import type { RopeSettings } from "./rope-settings.ts";

/**
 * Sliding windows of attention (Beltagy et al. 2020, https://arxiv.org/abs/2004.05150): a token looks at itself and at
 * the `size - 1` tokens before it.
 */
export interface AttentionWindow {
  readonly size: number;
  /** Per layer: whether it has the window. The others look at the whole context. */
  readonly layers: readonly boolean[];
}

/** Reads the keys of sliding windows from a `config.json`; undefined if no layer has one. */
export function readAttentionWindow(
  source: Readonly<Record<string, unknown>>,
  model: { readonly architecture: Architecture; readonly layers: number; readonly rope: RopeSettings | undefined },
): AttentionWindow | undefined {
  const layers = windowLayers(source, model);
  if (!layers.includes(true)) return undefined;
  const size = source.sliding_window;
  if (typeof size !== "number" || !Number.isInteger(size) || size < 1) {
    throw malformedConfig(`sliding_window must be a whole number from 1 on, it is ${String(size)}`);
  }
  return { size, layers };
}

function windowLayers(
  source: Readonly<Record<string, unknown>>,
  {
    architecture,
    layers,
    rope,
  }: { readonly architecture: Architecture; readonly layers: number; readonly rope: RopeSettings | undefined },
): boolean[] {
  const each = (windowed: (layer: number) => boolean): boolean[] =>
    Array.from({ length: layers }, (_, layer) => windowed(layer));
  const rule = architecture.window;
  if (rule === "every layer") return each(() => (source.sliding_window ?? undefined) !== undefined);
  const types = source.layer_types;
  const inUse = source.use_sliding_window === true;
  if (rule === undefined) {
    if (inUse) throw unsupportedConfig("use_sliding_window", "this family looks at the whole context");
    if (Array.isArray(types) && types.some((type) => type !== "full_attention")) {
      throw unsupportedConfig("layer_types", 'only "full_attention" is built for this family');
    }
    return each(() => false);
  }
  if (Array.isArray(types)) {
    if (types.length !== layers) throw malformedConfig(`layer_types has ${types.length} entries for ${layers} layers`);
    const unknown = types.find((type) => type !== "full_attention" && type !== "sliding_attention");
    if (unknown !== undefined)
      throw unsupportedConfig(`"${String(unknown)}" in layer_types`, "such layers are unknown");
    return types.map((type) => inUse && type === "sliding_attention");
  }
  if (rule === "layers without positions") return each((layer) => inUse && rope?.layers[layer] === false);
  return each((layer) => inUse && layer >= Number(source.max_window_layers ?? 28));
}
