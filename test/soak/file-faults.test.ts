import { describe, test } from "vitest";
import { damageEachFile, fillTheDisk, killAtRandomPoints, runTwice } from "../cli/file-faults.ts";

const jobs = ["train", "eval", "collect", "export"] as const;

describe("a hundred kills at random points", () => {
  test.each(jobs)("leave what comes to the same: %s", (name) => killAtRandomPoints(name, { kills: 25, seed: 7 }));
});

describe("a full disk, of four sizes", () => {
  test.for(jobs)("is a typed error, and with room again the command comes to the same: %s", async (name, context) =>
    fillTheDisk(name, [0, 0.1, 0.35, 0.8], context));
});

test("a checkpoint with a damaged file gives way to the one before it", () =>
  damageEachFile(["truncated", "zeroed", "with one bit flipped"]));

test.each(["train", "eval", "collect"] as const)("two processes never write one output: %s", (name) => runTwice(name));
