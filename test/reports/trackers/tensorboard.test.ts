import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { crc32c } from "../../../reports/trackers/tensorboard/crc32c.ts";
import { tensorflowRecord } from "../../../reports/trackers/tensorboard/record.ts";
import { tensorboardTracker } from "../../../reports/trackers/tensorboard/tensorboard-tracker.ts";
import type { RunStartEvent, TrainingEvent } from "../../../src/contract/training-event.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleRun } from "../training/sample-run.ts";

const signal = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = temporaryFolder();
});

async function track(events: readonly TrainingEvent[], now?: () => number): Promise<void> {
  const start = events[0] as RunStartEvent;
  const tracker = tensorboardTracker(now === undefined ? {} : { now });
  const session = await tracker.open({ start, folder, config: { seed: 1 } }, { signal });
  for (const event of events) await session.write(event, { signal });
  await session.close({ signal });
}

const files = async (): Promise<string[]> => (await readdir(join(folder, "tensorboard"))).sort();

describe("crc32c", () => {
  it("gives the checksums of RFC 3720, appendix B.4", () => {
    const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
    expect(crc32c(ascending)).toBe(0x46dd794e);
    expect(crc32c(ascending.toReversed())).toBe(0x113fdb5c);
    expect(crc32c(new TextEncoder().encode("123456789"))).toBe(0xe3069283);
    expect(crc32c(new Uint8Array())).toBe(0);
  });
});

describe("tensorflowRecord", () => {
  it("is length, its masked checksum, data, its masked checksum", () => {
    const view = Buffer.from(tensorflowRecord(new Uint8Array(32)));
    expect(view.length).toBe(48);
    expect(view.readBigUInt64LE(0)).toBe(32n);
    // For 32 zeros: 0x8a9136aa rotated right by 15 bits, plus 0xa282ead8, modulo 2^32.
    expect(view.readUInt32LE(44)).toBe(0xfd7fffa);
  });

  it("keeps any data unchanged", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (data) => {
        expect(tensorflowRecord(data).slice(12, 12 + data.length)).toEqual(data);
      }),
    );
  });
});

describe("tensorboardTracker", () => {
  it("writes one file, whose records are complete after every event", async () => {
    await track(sampleRun({ steps: 12 }));
    const [name, ...others] = await files();
    expect(others).toEqual([]);
    expect(name).toMatch(/^events\.out\.tfevents\.\d{10}\.lyceum$/);
    const bytes = await readFile(join(folder, "tensorboard", name!));
    let records = 0;
    for (let at = 0; at < bytes.length; records++) {
      const length = Number(bytes.readBigUInt64LE(at));
      const data = bytes.subarray(at + 12, at + 12 + length);
      expect(Buffer.from(tensorflowRecord(data))).toEqual(bytes.subarray(at, at + 16 + length));
      at += 16 + length;
    }
    // The version, the config, 12 steps, 12 samples, 7 evaluations and the end.
    expect(records).toBe(34);
    expect(bytes.toString("latin1")).toContain("brain.Event:2");
  });

  it("removes the files of an earlier run, and adds a file for a resumed run", async () => {
    await track(sampleRun({ steps: 6 }));
    const [first] = await files();
    await track(sampleRun({ steps: 6, stopAt: 3 }));
    expect(await files()).toHaveLength(1);
    await track(sampleRun({ steps: 6, resumedFrom: 3 }), () => 5_000);
    const [second, third, ...others] = await files();
    expect(others).toEqual([]);
    expect(first! <= second!).toBe(true);
    // The name sorts after the earlier one even if the clock went back.
    expect(third! > second!).toBe(true);
  });
});
