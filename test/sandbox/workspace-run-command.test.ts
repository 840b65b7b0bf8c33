import { PassThrough } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type Docker from "dockerode";
import { expect, test } from "vitest";
import { runCommand } from "../../sandbox/docker/workspace/run-command.ts";

/** A container whose engine says that the command has ended before its output arrives. */
function lateContainer(send: (stream: PassThrough) => Promise<void>): Docker.Container {
  const stream = new PassThrough();
  return {
    exec: async () => ({
      start: async () => {
        void send(stream);
        return stream;
      },
      inspect: async () => ({ Running: false, ExitCode: 3 }),
    }),
    modem: {
      demuxStream: (from: PassThrough, to: PassThrough) => void from.on("data", (part: Buffer) => to.write(part)),
    },
  } as unknown as Docker.Container;
}

test("output that arrives after the end of the command is kept", async () => {
  const container = lateContainer(async (stream) => {
    await wait(300);
    stream.write("first ");
    await wait(300);
    stream.end("last");
  });
  expect(await runCommand(container, { command: ["tests"], limitMs: 5000 })).toEqual({
    output: "first last",
    exitCode: 3,
    timedOut: false,
  });
});

test("a stream that a process in the background keeps open does not hold the command", async () => {
  const container = lateContainer(async (stream) => void stream.write("done"));
  expect(await runCommand(container, { command: ["tests"], limitMs: 60_000 })).toMatchObject({ output: "done" });
});
