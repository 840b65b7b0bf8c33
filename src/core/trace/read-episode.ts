import { open } from "node:fs/promises";
import type { Episode } from "../../contract/episode.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { tryParseJson } from "../../contract/json.ts";
import type { TraceEntry } from "./trace-entry.ts";

/** Reads one complete episode of a trace at its place. Throws `data.malformed` if it is not there. */
export async function readEpisodeAt(
  path: string,
  { offset, length, id }: Pick<TraceEntry, "offset" | "length" | "id">,
): Promise<Episode> {
  await using file = await open(path, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  const episode = tryParseJson<Episode>(buffer.toString("utf8", 0, bytesRead));
  if (episode?.id === id) return episode;
  throw new LyceumError({
    code: "data.malformed",
    message: `${path} cannot be read: there is no episode ${id} at byte ${offset}.`,
    hint: "Another program has changed the trace or its index. You can delete the index: a resumed run creates it again.",
    data: { path },
  });
}
