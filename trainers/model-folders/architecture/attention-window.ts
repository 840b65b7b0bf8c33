import type { Architecture } from "./architecture.ts";
import { type ConfigFields, malformedConfig, unsupportedConfig } from "./config-fields.ts";
import type { RopeSettings } from "./rope-settings.ts";

/**
 * Sliding-window attention (Beltagy et al. 2020, https://arxiv.org/abs/2004.05150). A token attends to itself and to
 * the `size - 1` tokens before it.
 */
export interface AttentionWindow {
  readonly size: number;
  /** True for each layer that has the window. The other layers attend to the whole context. */
  readonly layers: readonly boolean[];
}

/** Reads the sliding-window keys of a `config.json`. Returns undefined if no layer has a window. */
export function readAttentionWindow(
  source: Readonly<Record<string, unknown>>,
  model: {
    readonly architecture: Architecture;
    readonly fields: ConfigFields;
    readonly layers: number;
    readonly rope: RopeSettings | undefined;
  },
): AttentionWindow | undefined {
  const layers = windowLayers(source, model);
  if (!layers.includes(true)) return undefined;
  const size = windowSize(source, model.architecture);
  if (typeof size !== "number" || !Number.isInteger(size) || size < 1) {
    throw malformedConfig(`sliding_window must be an integer of at least 1, but it is ${String(size)}`);
  }
  return { size, layers };
}

/** A size that `config.json` sets to null is no window, and one that it omits has the family's default. */
function windowSize(source: Readonly<Record<string, unknown>>, { defaults }: Architecture): unknown {
  return (source.sliding_window === undefined ? defaults.sliding_window : source.sliding_window) ?? undefined;
}

function windowLayers(
  source: Readonly<Record<string, unknown>>,
  { architecture, fields, layers, rope }: Parameters<typeof readAttentionWindow>[1],
): boolean[] {
  const each = (windowed: (layer: number) => boolean): boolean[] =>
    Array.from({ length: layers }, (_, layer) => windowed(layer));
  const rule = architecture.window;
  if (rule === "every layer") return each(() => windowSize(source, architecture) !== undefined);
  const types = source.layer_types;
  const byPattern = rule === "by sliding_window_pattern";
  const inUse = byPattern || source.use_sliding_window === true;
  if (rule === undefined) {
    if (inUse) throw unsupportedConfig("use_sliding_window", "this family attends to the whole context");
    if (Array.isArray(types) && types.some((type) => type !== "full_attention")) {
      throw unsupportedConfig("layer_types", 'this family supports only "full_attention"');
    }
    return each(() => false);
  }
  if (Array.isArray(types)) {
    if (types.length !== layers) throw malformedConfig(`layer_types has ${types.length} entries for ${layers} layers`);
    const unknown = types.find((type) => type !== "full_attention" && type !== "sliding_attention");
    if (unknown !== undefined)
      throw unsupportedConfig(`"${String(unknown)}" in layer_types`, "this layer type is unknown");
    return types.map((type) => inUse && type === "sliding_attention");
  }
  if (byPattern) {
    const pattern = fields.size("sliding_window_pattern");
    return each((layer) => (layer + 1) % pattern !== 0);
  }
  if (rule === "layers without positions") return each((layer) => inUse && rope?.layers[layer] === false);
  return each((layer) => inUse && layer >= Number(source.max_window_layers ?? 28));
}
