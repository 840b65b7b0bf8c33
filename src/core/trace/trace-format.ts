import { tryParseJson } from "../../contract/json.ts";

/**
 * The schema version of traces: a header line, then one line of JSON per episode. It grows with every change that an
 * earlier reader would misread. Version 3 added the model calls of a turn.
 */
const traceVersion = 3;
/** Every trace of these versions is also a trace of the newest one. */
const readableVersions: readonly unknown[] = [2, traceVersion];

/** The first line of a trace. */
export interface TraceHeader {
  readonly format: "lyceum-trace";
  readonly version: number;
}

/** Returns the header line of a new trace. */
export function headerLine(): string {
  const header: TraceHeader = { format: "lyceum-trace", version: traceVersion };
  return `${JSON.stringify(header)}\n`;
}

/** Returns why a first line is not the header of a readable trace, if it is not. */
export function headerProblem(line: string): string | undefined {
  const header = tryParseJson<Partial<TraceHeader> | null>(line);
  if (header?.format !== "lyceum-trace") return "the first line is not the header of a Lyceum trace";
  if (readableVersions.includes(header.version)) return undefined;
  return (
    `it has schema version ${header.version}, and this version of Lyceum reads ${readableVersions.join(" and ")}: ` +
    "use the version that wrote it, or play the episodes again"
  );
}
