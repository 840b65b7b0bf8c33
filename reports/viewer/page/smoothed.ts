/**
 * Returns smoothed values: an exponential moving average like TensorBoard's, in which the previous average has the
 * weight `weight` (0 to below 1), with a correction so that the first values are not drawn towards zero. A gap stays a
 * gap.
 */
export function smoothed(values: readonly (number | null)[], weight: number): (number | null)[] {
  let average = 0;
  let counted = 0;
  return values.map((value) => {
    if (value === null || !Number.isFinite(value)) return null;
    average = weight * average + (1 - weight) * value;
    counted = weight * counted + (1 - weight);
    return average / counted;
  });
}
