/**
 * How many rows of one prompt stand in a group that reads its cache once. Groups are all as wide, so a width above 1
 * may leave rows idle, which are computed in vain; a width below the number of a prompt's rows reads its cache more
 * than once. Chooses the width that costs least.
 */
export function chooseWidth(options: {
  /** Rows that each prompt has. */
  readonly rows: readonly number[];
  /** The prompts' greatest length in tokens. */
  readonly length: number;
  /** What a row costs, in cached tokens read: {@link rowCost}. */
  readonly rowCost: number;
  /** The width now; another one has to be better by a tenth, because changing it copies the caches. */
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
 * About how many cached tokens are read in the time that one row more takes in the products with the weights: two
 * operations for each weight, where processors do some twenty in the time in which they read a cached number.
 */
export function rowCost(weights: number, cachedNumbersPerToken: number): number {
  return (2 * weights) / (20 * cachedNumbersPerToken);
}
