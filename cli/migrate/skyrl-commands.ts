import { shellWord } from "../../server/python/shell-word.ts";
import type { Json } from "../../src/contract/json.ts";
import { type MrlmGpus, skyrlEngine } from "./mrlm-cluster.ts";
import { visibleDevices } from "./torch-commands.ts";

/** The port of SkyRL's server in the printed commands. */
export const serverPort = 8000;

/**
 * Returns the commands that start SkyRL 0.3.0 on a cluster, in their order. On several nodes, the first two start Ray.
 * `settings` are SkyRL's dotted keys, and a few options of the commands, which have other names.
 */
export function skyrlCommands(options: {
  readonly model: string;
  readonly gpus: MrlmGpus;
  readonly settings: ReadonlyMap<string, Json>;
}): readonly string[] {
  const { model, gpus, settings } = options;
  const { nodes, gpuIds, address, port } = gpus;
  const engine = skyrlEngine(gpus);
  const visible = visibleDevices(gpuIds);
  const run = `uv run --extra tinker --extra ${engine}`;
  const config = Object.fromEntries([...settings].filter(([key]) => /^(trainer|generator)\./.test(key)));
  const server = [
    `${run} -m skyrl.tinker.api --base-model ${shellWord(model)} --backend ${engine}`,
    `--backend-config ${shellWord(JSON.stringify(config))}`,
    // The JAX backend saves only under an absolute path.
    `--database-url sqlite:///tinker.db --checkpoints-base "$PWD/checkpoints"`,
    // The server has no authentication: it listens on one address only.
    `--host ${address === "localhost" ? "127.0.0.1" : address} --port ${serverPort}`,
  ].join(" ");
  if (nodes === 1) return [visible + server];
  return [
    `${visible}${run} ray start --head --port=${port}`,
    `${visible}${run} ray start --address=${address === "localhost" ? "HEAD_NODE" : address}:${port}`,
    server,
  ];
}
