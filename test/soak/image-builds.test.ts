import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import Docker from "dockerode";
import { expect, test } from "vitest";
import { removeImage } from "../../sandbox/docker/orphans.ts";
import { buildImage } from "../../sandbox/docker/workspace/build-image.ts";
import { missingRequirement } from "../sandbox/faulty-sandboxes.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const missing = await missingRequirement("docker");

test.skipIf(missing !== undefined)(
  `builds of equal images survive the removal of others ${missing ?? ""}`,
  async () => {
    const docker = new Docker();
    const context = temporaryFolder();
    await writeFile(join(context, "Dockerfile"), "FROM lyceum-shell\nWORKDIR /app\nRUN echo hi > /app/start.txt\n");
    const built = Array.from({ length: 6 }, async () => {
      for (let i = 0; i < 30; i++) {
        await removeImage(docker, await buildImage(docker, { context, limitMs: 60_000, network: false }));
      }
    });
    expect(await Promise.allSettled(built)).toEqual(built.map(() => ({ status: "fulfilled", value: undefined })));
  },
);
