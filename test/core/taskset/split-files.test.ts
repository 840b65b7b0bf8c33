import { expect, test } from "vitest";
import { findSplitFiles } from "../../../src/core/taskset/split-files.ts";

const source = "The data set";
const gsm8k = [
  "README.md",
  "main/test-00000-of-00001.parquet",
  "main/train-00000-of-00001.parquet",
  "socratic/test-00000-of-00001.parquet",
  "socratic/train-00000-of-00001.parquet",
];

test.each([
  ["train", "main", gsm8k, ["main/train-00000-of-00001.parquet"]],
  ["test", "socratic", gsm8k, ["socratic/test-00000-of-00001.parquet"]],
  ["train", undefined, ["a.txt", "train.jsonl", "test.jsonl"], ["train.jsonl"]],
  [
    "train",
    undefined,
    ["data/train-00001-of-00002.parquet", "data/train-00000-of-00002.parquet"],
    ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
  ],
  [
    "train",
    undefined,
    ["default/train/0000.parquet", "default/train/0001.parquet"],
    ["default/train/0000.parquet", "default/train/0001.parquet"],
  ],
  ["train", "default", ["data/train.jsonl.gz"], ["data/train.jsonl.gz"]],
  ["test", undefined, ["gsm8k-train.jsonl", "gsm8k-test.jsonl", "mbpp.jsonl"], ["gsm8k-test.jsonl"]],
  ["train", undefined, ["train.jsonl", "train.parquet", "train.jsonl.gz"], ["train.parquet"]],
  ["train", undefined, ["train.jsonl", "old-train.jsonl"], ["train.jsonl"]],
  ["train", undefined, ["only/train.jsonl", "docs/readme.md"], ["only/train.jsonl"]],
  ["a.b", undefined, ["a.b.jsonl", "axb.jsonl"], ["a.b.jsonl"]],
] as const)("finds %s of config %s", (split, config, paths, expected) => {
  const found = findSplitFiles({ paths, split, source, ...(config === undefined ? {} : { config }) });
  expect(found?.paths).toEqual(expected);
});

test.each([
  ["validation", undefined, gsm8k],
  ["train", "other", gsm8k],
  ["train", undefined, ["pretrain.jsonl", "trained.jsonl", "train.json", "trainjsonl", "train.jsonl.bak"]],
  ["train", undefined, []],
  ["axb", undefined, ["a.b.jsonl"]],
] as const)("finds nothing for %s of %s where there is nothing", (split, config, paths) => {
  expect(findSplitFiles({ paths, split, source, ...(config === undefined ? {} : { config }) })).toBeUndefined();
});

test("asks for a config if several have the split", () => {
  expect(() => findSplitFiles({ paths: gsm8k, split: "train", source })).toThrow(
    expect.objectContaining({
      code: "config.invalid",
      message: expect.stringContaining("main, socratic"),
      data: { configs: ["main", "socratic"] },
    }),
  );
});

test.each([
  ["a shard of a known count", ["train-00000-of-00003.parquet", "train-00002-of-00003.parquet"], "2 of the 3"],
  ["the only shard there is of two", ["train-00000-of-00002.parquet"], "1 of the 2"],
  ["a shard in the middle", ["train/0000.parquet", "train/0002.parquet"], "2 of the 3"],
])("refuses to serve half a data set: %s", (_name, paths, message) => {
  expect(() => findSplitFiles({ paths, split: "train", source })).toThrow(
    expect.objectContaining({ code: "data.malformed", message: expect.stringContaining(message) }),
  );
});

test("refuses to choose between files that are not shards of each other", () => {
  for (const paths of [
    ["a-train.jsonl", "b-train.jsonl"],
    ["train-00000-of-00002.parquet", "train-1.parquet"],
  ]) {
    expect(() => findSplitFiles({ paths, split: "train", source })).toThrow(
      expect.objectContaining({ code: "config.invalid" }),
    );
  }
});
