import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { match, P } from "ts-pattern";
import { stringify } from "yaml";
import type { TrackedSession, Tracker } from "../../../src/contract/tracker.ts";
import type { TrainingEvent } from "../../../src/contract/training-event.ts";
import { makeFolder } from "../../../src/core/files/make-folder.ts";
import { visibleText } from "../../../src/core/text/visible-text.ts";
import { plainLine } from "../../training/plain-line.ts";
import { eventMetrics } from "../event-metrics.ts";
import { encodeEvent, type TensorboardValue } from "./event.ts";
import { tensorflowRecord } from "./record.ts";

/** The prefix of the event files in the folder `tensorboard` of the run folder. */
const filePrefix = "events.out.tfevents.";

/**
 * Creates a tracker that writes TensorBoard event files to `tensorboard/` in the run folder: metrics as curves, and the
 * config, samples and warnings as texts. A new run removes the files of an earlier run. A resumed run adds a file that
 * voids the earlier values of repeated steps.
 */
export function tensorboardTracker(options: { readonly now?: () => number } = {}): Tracker {
  const { now = Date.now } = options;
  return {
    name: "TensorBoard's event file",
    open: async ({ start, folder, config }) => {
      const events = join(folder, "tensorboard");
      await makeFolder(events);
      const earlier = (await readdir(events)).filter((name) => name.startsWith(filePrefix)).sort();
      if (start.resumedFrom === 0) for (const name of earlier) await rm(join(events, name));
      const file = await openEventFile(join(events, nextFileName(start.resumedFrom === 0 ? [] : earlier, now)), now);
      if (start.resumedFrom > 0) await file.append({ step: start.resumedFrom + 1, what: { type: "restart" } });
      else if (config !== undefined) {
        const text = fenced(stringify(config, { lineWidth: 0 }));
        await file.append({ step: 0, what: { type: "values", values: [{ tag: "config", text }] } });
      }
      return {
        write: async (event) => {
          const values = valuesOf(event);
          if (values.length > 0) await file.append({ step: stepOf(event), what: { type: "values", values } });
        },
        close: () => file.close(),
      } satisfies TrackedSession;
    },
  };
}

/** Returns a file name that sorts after all earlier ones, because readers read the files in order of their names. */
function nextFileName(earlier: readonly string[], now: () => number): string {
  const seconds = earlier.map((name) => Number(name.slice(filePrefix.length).split(".")[0])).filter(Number.isFinite);
  const next = Math.max(Math.floor(now() / 1000), ...seconds.map((second) => second + 1));
  return `${filePrefix}${String(next).padStart(10, "0")}.lyceum`;
}

async function openEventFile(path: string, now: () => number) {
  const file = await open(path, "wx");
  let size = 0;
  const append = async (event: Omit<Parameters<typeof encodeEvent>[0], "wallTime">): Promise<void> => {
    const record = tensorflowRecord(encodeEvent({ ...event, wallTime: now() / 1000 }));
    try {
      await file.appendFile(record);
      size += record.length;
    } catch (error) {
      // A full disk can leave a part of a record, at which a reader would stop.
      await file.truncate(size).catch(() => undefined);
      throw error;
    }
  };
  await append({ what: { type: "version" } });
  return { append, close: () => file.close() };
}

function stepOf(event: TrainingEvent): number {
  return "step" in event ? event.step : event.resumedFrom;
}

function valuesOf(event: TrainingEvent): TensorboardValue[] {
  return match(event)
    .returnType<TensorboardValue[]>()
    .with({ type: P.union("step", "evaluation") }, (measured) =>
      Object.entries(eventMetrics(measured)).map(([tag, scalar]) => ({ tag, scalar })),
    )
    .with({ type: "sample" }, ({ prompt, completion, reward }) => {
      const rewardText = reward === undefined ? "" : `reward ${reward}\n\n`;
      return [{ tag: "sample", text: `${fenced(prompt)}\n\n${rewardText}${fenced(completion)}` }];
    })
    .with({ type: "warning" }, ({ message }) => [{ tag: "warning", text: fenced(message) }])
    .with({ type: "preflight" }, (preflight) => [{ tag: "preflight", text: fenced(plainLine(preflight)) }])
    .with({ type: "probe" }, (probe) => [{ tag: "probe", text: fenced(plainLine(probe)) }])
    .with({ type: "run-end" }, (end) => [{ tag: "end", text: fenced(plainLine(end)) }])
    .with({ type: P.union("run-start", "checkpoint") }, () => [])
    .exhaustive();
}

/** Returns text as a Markdown code block. Its fence is longer than any fence in the text. */
function fenced(text: string): string {
  const shown = visibleText(text);
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${shown.trimEnd()}\n${fence}`;
}
