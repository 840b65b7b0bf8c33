import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runInProcess } from "../cli/run-in-process.ts";
import { lyceum } from "../cli/run-lyceum.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

test("OpenEnv's tools read an exported Space, and its client plays on the server that its image starts", async () => {
  const environment =
    process.env.LYCEUM_OPENENV_VENV ||
    (await providePythonEnvironment({ name: "openenv", requirements: "openenv-requirements.txt", download: "120 MB" }));
  const folder = await mkdtemp(join(tmpdir(), "lyceum-space-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const words = ["export-python", "number-guessing", "--space", "--output", "space"];
  expect(await runInProcess(words, { folder })).toMatchObject({ code: 0, stderr: "" });
  const dockerfile = await readFile(join(folder, "space/Dockerfile"), "utf8");
  const [program, ...command] = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)![1]!) as string[];
  expect([program, ...command.slice(-2)]).toEqual(["node_modules/.bin/lyceum", "--port", "8000"]);

  const token = "interop-token";
  const ready = Promise.withResolvers<string>();
  const running = lyceum(
    // A free port instead of the image's.
    command.slice(0, -2),
    {
      folder,
      variables: { LYCEUM_SERVER_TOKEN: token },
      onOutput: (output) => {
        const port = / at http:\S+:(\d+) /.exec(output)?.[1];
        if (port !== undefined) ready.resolve(`http://127.0.0.1:${port}`);
      },
    },
  );
  void running.then(({ stderr }) => ready.reject(new Error(stderr)));
  const found = await runPython<Record<string, unknown>>({
    environment,
    script: "openenv_space",
    packages: join(folder, "space"),
    request: { folder: join(folder, "space"), url: await ready.promise, token },
  });
  expect(found).toMatchObject({
    // It is optional.
    warnings: ["Recommended directory missing: outputs/"],
    name: "number_guessing",
    manifest: { spec_version: 1, port: 8000, validation: { reward: { range: [0, 1] } } },
    card: { title: "number-guessing", sdk: "docker", app_port: 8000, base_path: "/health", tags: ["openenv"] },
    validated: [0, expect.stringContaining("Verdict: PASS")],
    played: [expect.stringContaining("number"), expect.stringMatching(/higher|lower/)],
  });
  expect(found.dockerfile).toContain(`CMD ${JSON.stringify([program, ...command])}`);
});
