import { spawn } from "node:child_process";
import { once } from "node:events";

const report = "process.on('exit', () => console.log('peak-rss', process.resourceUsage().maxRSS))";

/** A module for `--import` that prints the peak resident memory of a process at its end: `peak-rss` and kilobytes. */
export const peakMemoryReport: string = `data:text/javascript,${encodeURIComponent(report)}`;

/** Returns the peak resident memory, in bytes, of a process that runs one module to its end. */
export async function peakMemory(module: URL, args: readonly string[] = []): Promise<number> {
  const child = spawn(process.execPath, ["--import", peakMemoryReport, module.pathname, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 600_000,
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [code] = await once(child, "close");
  const kilobytes = Number(/peak-rss (\d+)/.exec(output)?.[1]);
  if (code !== 0 || !(kilobytes > 0)) throw new Error(`${module.pathname} ended with ${code} and said: ${output}`);
  return kilobytes * 1024;
}
