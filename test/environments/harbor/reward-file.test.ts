import { expect, it } from "vitest";
import { readReward } from "../../../environments/harbor/reward-file.ts";

const read = (content: string) => readReward({ json: Buffer.from(content), text: undefined }, [0, 1]);

it.each([
  ['{"reward": "1"}', 1],
  ['{"reward": "1.0\\r"}', 1],
  ['{\r\n  "reward": 1\r\n}\r\n', 1],
  ['\uFEFF{"reward": 1}', 1],
  ['{"reward": " 0.5\\r\\n"}', 0.5],
  ['"1\\r"', 1],
  ['"0.25"', 0.25],
  ["1\r\n", 1],
  ['{"reward": "5e-1", "style": "0"}', 0.5],
  ['{"reward": true}', 1],
  ['{"score": "0.75"}', 0.75],
])("reads %j", (content, value) => {
  expect(read(content)).toMatchObject({ status: "scored", value });
  expect(read(content)).not.toHaveProperty("failure");
});

it.each([
  '{"reward": ""}',
  '{"reward": " \\r\\n"}',
  '{"reward": "pass"}',
  '{"reward": "1 point"}',
  '{"reward": "Infinity"}',
  '{"reward": "1e999"}',
  '{"reward": [1]}',
  '{"reward": null}',
  "{}",
  "[]",
  "reward: 1",
])("gives the lowest reward for %j", (content) => {
  expect(read(content)).toMatchObject({ status: "scored", value: 0, failure: { name: "VerifierFailure" } });
});

it("reads reward.txt with a byte order mark and CRLF", () => {
  const text = Buffer.from("\uFEFF0.5\r\n");
  expect(readReward({ json: undefined, text }, [0, 1])).toMatchObject({ value: 0.5 });
});
