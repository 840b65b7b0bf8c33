import { tryParseJson } from "../../contract/json.ts";

/** The schema of a trace: its first line, then one line of JSON for each episode. */
const traceVersion = 1;

/** The first line of a trace. */
export interface TraceHeader {
  readonly format: "lyceum-trace";
  readonly version: number;
}

/** The header of traces written now, as a line. */
export function headerLine(): string {
  const header: TraceHeader = { format: "lyceum-trace", version: traceVersion };
  return `${JSON.stringify(header)}\n`;
}

/** What is wrong with a first line, or undefined when it heads a trace that can be read. */
export function headerProblem(line: string): string | undefined {
  const header = tryParseJson<Partial<TraceHeader> | null>(line);
  if (header?.format !== "lyceum-trace") return "the first line is not the header of a Lyceum trace";
  if (header.version === traceVersion) return undefined;
  return `it has schema version ${header.version}, and this version of Lyceum reads ${traceVersion}`;
}
