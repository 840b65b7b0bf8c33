import { warn } from "../../src/core/text/warn.ts";
import type { UnknownKeyReport } from "./chat-message.ts";

/** Returns a report that warns once of each key of a message that nothing reads. */
export function unknownKeyWarning(path: string | undefined): UnknownKeyReport {
  const reported = new Set<string>();
  return (key) => {
    if (reported.has(key)) return;
    reported.add(key);
    warn("LyceumData", `${path}: the key ${JSON.stringify(key)} of messages is not read. This warning is shown once.`);
  };
}
