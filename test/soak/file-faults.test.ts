import { describe, test } from "vitest";
import { damageEachFile, fillTheDisk, killAtRandomPoints, runTwice } from "../cli/file-faults.ts";

const jobs = ["train", "eval", "collect", "export"] as const;

describe("a hundred kills at random points", () => {
  test.each(jobs)("leave the same final result: %s", (name) => killAtRandomPoints(name, { kills: 25, seed: 7 }));
});

describe("a full disk of four sizes", () => {
  test.for(
    jobs,
  )("is a typed error, and after space is free again, the command gives the same result: %s", async (name, context) =>
    fillTheDisk(name, [0, 0.1, 0.35, 0.8], context));
});

test("a checkpoint with a damaged file is replaced by the one before it", () =>
  damageEachFile(["truncated", "zeroed", "with one bit flipped"]));

test.each(["train", "eval", "collect"] as const)("two processes never write to the same output: %s", (name) =>
  runTwice(name));
