import { expect, test } from "vitest";
import { FutureTable } from "../../../trainers/tinker/service/future-table.ts";

/** Results of 800 bytes, and room for two of them. */
const large = { values: new Float32Array(200) };
const table = (): FutureTable => new FutureTable({ resultMs: 60_000, maxResultBytes: 2_000 });
const once = (owner: string, key: number) => ({ owner, key, digest: "", queue: 0 });

test("the oldest results are dropped if all of them are too large", async () => {
  const futures = table();
  const ids = [1, 2, 3].map(() => futures.start(async () => large));
  await futures.settled();
  await expect(futures.result(ids[0]!, 0)).rejects.toMatchObject({ status: 410 });
  for (const id of ids.slice(1)) expect(await futures.result(id, 0)).toEqual({ value: large });
  // The newest one is kept even if it is larger than the limit.
  const huge = futures.start(async () => ({ values: new Float32Array(10_000) }));
  await futures.settled();
  expect(await futures.result(huge, 0)).toMatchObject({ value: {} });
  await expect(futures.result(ids[2]!, 0)).rejects.toMatchObject({ status: 410 });
});

test("the id of a request cannot be guessed from the number of requests", async () => {
  const futures = table();
  const id = futures.start(async () => 1);
  const [server, number] = id.split(":");
  await expect(futures.result(`${server}:${number}`, 0)).rejects.toMatchObject({ status: 410 });
  expect(await futures.result(id, 0)).toEqual({ value: 1 });
});

test("a client drops only results of its own sampler", async () => {
  const futures = table();
  const id = futures.start(async () => 1, once("mine", 1));
  await futures.settled();
  const poll = { queue: 0, cursor: 0, received: [id], waitMs: 0 };
  await futures.completions({ ...poll, owner: "another" });
  expect(await futures.result(id, 0)).toEqual({ value: 1 });
  await futures.completions({ ...poll, owner: "mine" });
  await expect(futures.result(id, 0)).rejects.toMatchObject({ status: 410 });
});

test("work is aborted if its owner is forgotten, and other work continues", async () => {
  const futures = table();
  const untilAbort = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  const [ended, other] = [futures.start(untilAbort, once("a", 1)), futures.start(untilAbort, once("b", 1))];
  futures.forget("a");
  expect(await futures.result(ended, 1_000)).toMatchObject({ error: { status: 410 } });
  const poll = { owner: "a", queue: 0, cursor: 0, received: [], waitMs: 0 };
  expect(await futures.completions(poll)).toEqual({ completions: [], cursor: 0 });
  await expect(futures.result(other, 0)).rejects.toMatchObject({ status: 408 });
});
