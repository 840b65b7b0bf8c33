import { onTestFinished } from "vitest";
import { lyceum } from "../cli/run-lyceum.ts";

/** Starts `lyceum serve-model` for the time of a test. Returns its address. */
export async function startServeModel(options: {
  /** A model folder, or an adapter folder, whose adapter every client's model starts from. */
  readonly model: string;
  readonly key: string;
  /** The name by which clients call the base model. The folder by default. */
  readonly name?: string;
  readonly folder: string;
}): Promise<string> {
  const { model, key, name, folder } = options;
  const ready = Promise.withResolvers<string>();
  const named = name === undefined ? [] : ["--name", name];
  const ended = lyceum(["serve-model", model, ...named, "--chat-template", "none", "--device", "cpu", "--token", key], {
    folder,
    onOutput: (output, child) => {
      const [, url] = /at (http:\S+)/.exec(output) ?? [];
      if (url === undefined) return;
      ready.resolve(url);
      onTestFinished(async () => {
        child.kill("SIGTERM");
        await ended;
      });
    },
  });
  void ended.then(({ stderr }) => ready.reject(new Error(stderr)));
  return ready.promise;
}
