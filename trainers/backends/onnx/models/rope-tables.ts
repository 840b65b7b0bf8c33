import type { RopeFrequencies, RopeScaling } from "../../../model-folders/architecture/rope-settings.ts";

/** Returns the cosines and sines of all positions below `positions`: (positions, headSize / 2) each. */
export function ropeTables(
  rope: RopeFrequencies,
  { headSize, positions }: { readonly headSize: number; readonly positions: number },
): { readonly cos: Float32Array; readonly sin: Float32Array } {
  const frequencies = ropeFrequencies(rope, headSize);
  const half = frequencies.length;
  const cos = new Float32Array(new SharedArrayBuffer(positions * half * 4));
  const sin = new Float32Array(new SharedArrayBuffer(positions * half * 4));
  for (let position = 0; position < positions; position++) {
    for (let i = 0; i < half; i++) {
      // The product is rounded to float32 first, as in the reference implementations.
      const angle = Math.fround(position * frequencies[i]!);
      cos[position * half + i] = Math.cos(angle);
      sin[position * half + i] = Math.sin(angle);
    }
  }
  return { cos, sin };
}

/** Returns the angle per position of each pair of dimensions, theta^(-2i / headSize), with the config's scaling. */
function ropeFrequencies({ theta, scaling }: RopeFrequencies, headSize: number): Float32Array {
  return Float32Array.from({ length: headSize / 2 }, (_, i) => {
    const frequency = Math.fround(1 / theta ** ((2 * i) / headSize));
    return scaling === undefined ? frequency : scaleFrequency(frequency, scaling);
  });
}

/**
 * Applies Llama 3's rule: long wavelengths are stretched by the factor, short ones are kept, and those between are
 * interpolated (Grattafiori et al. 2024, https://arxiv.org/abs/2407.21783; the rule is in the reference code of Llama
 * 3.1).
 */
function scaleFrequency(frequency: number, scaling: RopeScaling): number {
  if (scaling.type === "linear") return frequency / scaling.factor;
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalMaxPositions } = scaling;
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength > originalMaxPositions / lowFrequencyFactor) return frequency / factor;
  if (wavelength < originalMaxPositions / highFrequencyFactor) return frequency;
  const kept = (originalMaxPositions / wavelength - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return (1 - kept) * (frequency / factor) + kept * frequency;
}
