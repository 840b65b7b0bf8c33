import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { type Batch, causalMask, type LossPositions } from "./batch.ts";
import type { Feed } from "./session.ts";

/**
 * Returns the feeds of the sequence inputs that every graph over whole sequences declares. `blocks` are the blocks of its
 * attention, which matter only if sequences share tokens.
 */
export function sequenceFeeds(
  batch: Batch,
  { heads, keyValueHeads, window }: Pick<DecoderConfig, "heads" | "keyValueHeads" | "window">,
  blocks = 1,
): Record<string, Feed> {
  const { tokens, length } = batch;
  const group = heads / keyValueHeads;
  const mask = (size?: number): Feed => ({ data: causalMask(length, group, size), shape: [length, group, length] });
  return {
    ids: { data: batch.ids, shape: [tokens] },
    positions: { data: batch.positions, shape: [1, tokens] },
    ...placeFeeds(batch, blocks),
    mask: mask(),
    ...(window === undefined ? {} : { windowMask: mask(window.size) }),
  };
}

/** Returns the feeds of the places of tokens in the padded batch: see `RaggedLayout`. */
export function placeFeeds(batch: Batch, blocks: number): Record<string, Feed> {
  const { tokens, length, sequences, tokenAt, placeOf, present, shared } = batch;
  const feeds = {
    tokenAt: { data: tokenAt, shape: [sequences, length] },
    placeOf: { data: placeOf, shape: [tokens] },
    present: { data: present, shape: [sequences, length, 1] },
  };
  if (shared === undefined) return feeds;
  const { count, copies, copyPlaces, copyPresent, starts } = shared;
  // Rows are in the order of their starts.
  const rowsUpTo = (end: number): number => starts.filter((start) => start < end).length;
  const blockLength = Math.ceil(length / blocks);
  const blockRows = BigInt64Array.from({ length: blocks }, (_, i) => BigInt(rowsUpTo((i + 1) * blockLength)));
  return {
    ...feeds,
    copyPlaces: { data: copyPlaces, shape: [count, copies] },
    copyPresent: { data: copyPresent, shape: [count, copies, 1] },
    ownPlaceOf: { data: placeOf.subarray(count), shape: [tokens - count] },
    blockRows: { data: blockRows, shape: [blocks] },
  };
}

/** Returns the feeds of the positions with loss. */
export function lossFeeds(loss: LossPositions, { shared }: Batch): Record<string, Feed> {
  const { count: _, padded, positionOf, sharedPositions, ...perPosition } = loss;
  return {
    ...Object.fromEntries(Object.entries(perPosition).map(([name, data]) => [name, { data, shape: [padded] }])),
    positionOf: { data: positionOf, shape: [positionOf.length] },
    ...(shared && { sharedPositions: { data: sharedPositions, shape: [shared.count, shared.copies] } }),
  };
}
