import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, it } from "vitest";
import { resumeCommand } from "../../cli/resume-command.ts";

it("the command that resumes a run gives a shell the same words, for any content", () => {
  const word = fc.string({
    unit: fc.constantFrom(..."ab '\"$`\\*;&|<>()[]{}#!~\n\té="),
    minLength: 1,
    maxLength: 12,
  });
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 2 }), word, (config, set, output) => {
      const command = resumeCommand({
        args: { config, set, resume: true },
        output,
        script: "lyceum",
        environment: {},
      });
      const shown = execFileSync("sh", ["-c", `lyceum() { printf '%s\\0' "$@"; }; ${command}`], { encoding: "utf8" });
      expect(shown.split("\0").slice(0, -1)).toEqual([
        "train",
        "--config",
        config,
        ...set.flatMap((override) => ["--set", override]),
        "--output",
        output,
        "--resume",
      ]);
    }),
    { numRuns: 40 },
  );
});
