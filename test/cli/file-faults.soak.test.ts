import { describe, it } from "vitest";
import { damageEachFile, fillTheDisk, killAtRandomPoints, runTwice } from "./file-faults.ts";

describe("a command that is killed at a random point", () => {
  it.each(["train", "collect", "export"] as const)("and resumed has the same result: %s", async (name) => {
    await killAtRandomPoints(name, { kills: 2, seed: 5 });
  });
});

describe("a full disk", () => {
  it.for([
    "train",
    "eval",
    "collect",
    "export",
  ] as const)("is a typed error, and with free space again the command gives the same result: %s", async (name, context) =>
    fillTheDisk(name, [0.2], context));
});

it("a checkpoint with one flipped bit, in any of its files, is replaced by the previous one", () =>
  damageEachFile(["with one bit flipped"]));

it.each(["train", "collect"] as const)("two processes never write one output: %s", (name) => runTwice(name));
