/**
 * Chooses how many rows of one prompt form a group that reads its cache once. All groups have the same width. A width
 * above 1 may leave idle rows, which are computed unnecessarily. A width below a prompt's number of rows reads its
 * cache several times. The returned width has the lowest cost.
 */
export function chooseWidth(options: {
  /** The number of rows of each prompt. */
  readonly rows: readonly number[];
  /** The longest prompt, in tokens. */
  readonly length: number;
  /** The cost of a row, in cached tokens read: {@link rowCost}. */
  readonly rowCost: number;
  /** The current width. Another width must be better by a tenth, because changing it copies the caches. */
  readonly width: number;
}): number {
  const { rows, length, rowCost, width } = options;
  const cost = (candidate: number): number => {
    const groups = rows.reduce((sum, count) => sum + Math.ceil(count / candidate), 0);
    return groups * (candidate * rowCost + length);
  };
  let best = width;
  let least = cost(width) / 1.1;
  for (let candidate = 1; candidate <= Math.max(...rows); candidate++) {
    if (cost(candidate) < least) [best, least] = [candidate, cost(candidate)];
  }
  return best;
}

/**
 * Estimates the cost of one more row in the products with the weights, in cached tokens read. A row needs two
 * operations for each weight, and a processor does about twenty operations in the time of one cached value read.
 */
export function rowCost(weights: number, cachedNumbersPerToken: number): number {
  return (2 * weights) / (20 * cachedNumbersPerToken);
}
