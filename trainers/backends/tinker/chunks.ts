import type { TinkerDatum } from "../../tinker/protocol/pass-request.ts";

/** The most data and bytes of one request, as in the API's own client. */
const limits = { data: 1024, bytes: 5_000_000 } as const;

/** Data that are sent in one request. `first` is the index of the first one. */
export interface Chunk {
  readonly first: number;
  readonly data: readonly TinkerDatum[];
}

/** Splits data into requests of at most 1,024 data and about 5 MB. A larger datum has a request of its own. */
export function chunks(
  data: readonly TinkerDatum[],
  limit: { readonly data: number; readonly bytes: number } = limits,
): Chunk[] {
  const all: { first: number; data: TinkerDatum[]; bytes: number }[] = [];
  for (const [index, datum] of data.entries()) {
    const bytes = sizeOf(datum);
    const last = all.at(-1);
    if (last === undefined || last.data.length === limit.data || last.bytes + bytes > limit.bytes) {
      all.push({ first: index, data: [datum], bytes });
    } else {
      last.data.push(datum);
      last.bytes += bytes;
    }
  }
  return all.map(({ first, data: part }) => ({ first, data: part }));
}

/** Returns about the number of bytes of a datum in JSON, at 10 bytes for each number. */
function sizeOf({ tokens, lossInputs }: TinkerDatum): number {
  return 10 * Object.values(lossInputs).reduce((sum, { data }) => sum + data.length, tokens.length);
}
