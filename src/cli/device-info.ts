import { execFile } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";

/** A value of `model.device`, tried out on this machine. */
export interface DeviceInfo {
  readonly name: string;
  readonly works: boolean;
  /** Why it does not work. */
  readonly reason?: string | undefined;
}

const timeoutMs = 60_000;
const answerSchema = z.object({ works: z.boolean(), reason: z.string().optional() });

/**
 * Tries a small computation on each device, in processes of their own: a driver may crash, hang, or write to the
 * terminal. `names` are devices for which the runtime has a provider.
 */
export async function deviceInfo(names: readonly string[]): Promise<DeviceInfo[]> {
  const script = fileURLToPath(new URL(`./probe-device${extname(import.meta.url)}`, import.meta.url));
  return await Promise.all(
    names.map(async (name) => {
      try {
        const { stdout } = await promisify(execFile)(process.execPath, [script, name], { timeout: timeoutMs });
        return { name, ...answerSchema.parse(JSON.parse(stdout)) };
      } catch (error) {
        const { killed, signal, code } = error as { killed?: boolean; signal?: string; code?: unknown };
        const reason =
          killed === true ? `no answer within ${timeoutMs / 1000} s` : `the trial ended by ${signal ?? code}`;
        return { name, works: false, reason };
      }
    }),
  );
}
