/** How far a ratio may move from 1, downwards and upwards, before its gradient is clipped. */
export interface ClipRange {
  readonly clipLow: number;
  readonly clipHigh: number;
}

/** Returns true if the clipped branch is the smaller one. The token then has no gradient. */
export function isClipped(ratio: number, advantage: number, { clipLow, clipHigh }: ClipRange): boolean {
  return (advantage > 0 && ratio > 1 + clipHigh) || (advantage < 0 && ratio < 1 - clipLow);
}
