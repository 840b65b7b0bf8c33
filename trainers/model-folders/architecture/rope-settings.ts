import { LyceumError } from "../../../src/contract/errors/index.ts";
import { isJsonObject } from "../../../src/contract/json.ts";
import type { Architecture } from "./architecture.ts";
import type { ConfigFields } from "./config-fields.ts";

/** How rotary frequencies are scaled for contexts longer than those of the first training. */
export type RopeScaling =
  | { readonly type: "linear"; readonly factor: number }
  | {
      readonly type: "llama3";
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalMaxPositions: number;
    };

/** The frequencies of rotary positions: theta^(-2i / headSize), scaled. */
export interface RopeFrequencies {
  readonly theta: number;
  readonly scaling: RopeScaling | undefined;
}

/** The rotary positions of a model. */
export interface RopeSettings extends RopeFrequencies {
  /** The frequencies of layers with a window, if they have their own. */
  readonly windowed?: RopeFrequencies;
  /** True for each layer that applies positions. SmolLM3 has layers without positions. */
  readonly layers: readonly boolean[];
}

/**
 * Reads `rope_theta`, `rope_scaling` and `no_rope_layers`. Newer configs have `rope_parameters` in place of the first
 * two. If a config has both, `rope_scaling` counts, as in `transformers`. If layers with a window have frequencies of
 * their own, `rope_parameters` has one entry for each type of layer, which `rope_scaling` adds to, or
 * `rope_local_base_freq` is theirs.
 */
export function readRopeSettings(
  source: Readonly<Record<string, unknown>>,
  {
    architecture,
    fields,
    layers,
  }: { readonly architecture: Architecture; readonly fields: ConfigFields; readonly layers: number },
): RopeSettings {
  const given = filledRecord(source.rope_parameters);
  const byType = architecture.windowRope === true;
  const scaling = filledRecord(source.rope_scaling);
  const settings = byType ? { ...filledRecord(given?.full_attention), ...scaling } : (scaling ?? given);
  const whole = {
    ...readFrequencies(source, { settings, theta: "rope_theta", fields }),
    layers: readRopeLayers(source, { fields, layers }),
  };
  if (!byType) return whole;
  const local = filledRecord(given?.sliding_attention);
  return { ...whole, windowed: readFrequencies(source, { settings: local, theta: "rope_local_base_freq", fields }) };
}

function readFrequencies(
  source: Readonly<Record<string, unknown>>,
  options: {
    readonly settings: Readonly<Record<string, unknown>> | undefined;
    /** The key of `config.json` with the theta of settings that have none. */
    readonly theta: string;
    readonly fields: ConfigFields;
  },
): RopeFrequencies {
  const { settings, fields } = options;
  const nested = Object.entries(settings ?? {}).find(([, value]) => isJsonObject(value));
  if (nested !== undefined) throw refuse("model.unsupported", `rope settings for each type of layer ("${nested[0]}")`);
  const theta = settings?.rope_theta ?? fields.number(options.theta);
  if (typeof theta !== "number" || !(theta > 0)) throw refuse("model.malformed", `rope_theta ${String(theta)}`);
  const rotated = settings?.partial_rotary_factor ?? source.partial_rotary_factor ?? 1;
  if (rotated !== 1) throw refuse("model.unsupported", `partial_rotary_factor ${String(rotated)}`);
  return { theta, scaling: settings === undefined ? undefined : readScaling(settings, { source, fields }) };
}

function readRopeLayers(
  source: Readonly<Record<string, unknown>>,
  { fields, layers }: { readonly fields: ConfigFields; readonly layers: number },
): boolean[] {
  const given = source.no_rope_layers;
  // The key's name is misleading: an entry is 1 if the layer applies rotary positions.
  if (Array.isArray(given) && given.length === layers) return given.map((entry) => entry === 1 || entry === true);
  const interval = fields.number("no_rope_layer_interval", Number.POSITIVE_INFINITY);
  return Array.from({ length: layers }, (_, layer) => (layer + 1) % interval !== 0);
}

function readScaling(
  settings: Readonly<Record<string, unknown>>,
  { source, fields }: { readonly source: Readonly<Record<string, unknown>>; readonly fields: ConfigFields },
): RopeScaling | undefined {
  const type = settings.rope_type ?? settings.type ?? "default";
  const number = (key: string, value: unknown = settings[key]): number => {
    if (typeof value !== "number" || !(value > 0))
      throw refuse("model.malformed", `rope scaling with ${key} ${String(value)}`);
    return value;
  };
  if (type === "default") return undefined;
  if (type === "linear") return { type, factor: number("factor") };
  if (type === "llama3") {
    return {
      type,
      factor: number("factor"),
      lowFrequencyFactor: number("low_freq_factor"),
      highFrequencyFactor: number("high_freq_factor"),
      // A value outside of the settings wins, and the whole context is the default: as in transformers.
      originalMaxPositions: number(
        "original_max_position_embeddings",
        source.original_max_position_embeddings ??
          settings.original_max_position_embeddings ??
          fields.size("max_position_embeddings"),
      ),
    };
  }
  throw refuse("model.unsupported", `rope scaling of type "${String(type)}"`);
}

function filledRecord(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (value !== undefined && value !== null && !isJsonObject(value)) {
    throw refuse("model.malformed", `rope settings that are no object (${JSON.stringify(value)})`);
  }
  return isJsonObject(value) && Object.keys(value).length > 0 ? value : undefined;
}

function refuse(code: "model.malformed" | "model.unsupported", what: string): LyceumError {
  return new LyceumError({
    code,
    message: `The model's config.json has ${what}, which the embedded engine cannot apply.`,
    hint: 'Choose a checkpoint with rope type "default", "linear" or "llama3" over whole heads.',
  });
}
