import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Context, Hono } from "hono";
import { z } from "zod";
import * as bodies from "../protocol/requests.ts";
import type { Checkpoint, CheckpointStore } from "./checkpoint-store.ts";
import { type Download, DownloadLinks } from "./download-links.ts";
import { tarOfFolder } from "./folder-archive.ts";
import { RequestError } from "./request-error.ts";

/** The part of the service that the routes of checkpoints need. */
export interface TrainingRuns {
  readonly checkpoints: CheckpointStore;
  /** The name of the base model in answers. */
  readonly baseName: string;
  /** The models in training, with the time of their last request. */
  openModels(): readonly { readonly id: string; readonly rank: number; readonly used: Date }[];
}

/** The prefix of download links. They need no key, because their last part cannot be guessed. */
export const downloadPrefix = "/api/v1/downloads/";

const pageSchema = z.object({
  limit: z.coerce.number().int().min(1).max(10_000).default(20),
  offset: z.coerce.number().int().min(0).default(0),
});

/**
 * Adds the routes of training runs and checkpoints: lists, `weights_info`, archives, downloads and deletion. A training
 * run is a model in training, or one whose checkpoints are in the store. `jsonOf` reads the body of a request.
 */
export function addCheckpointRoutes(
  app: Hono,
  { service, jsonOf }: { readonly service: TrainingRuns; readonly jsonOf: (context: Context) => Promise<unknown> },
): void {
  const { checkpoints, baseName } = service;
  const links = new DownloadLinks({ keepMs: 900_000 });

  const runs = async () => {
    const saved = Map.groupBy(await checkpoints.list(), ({ modelId }) => modelId);
    const open = new Map(service.openModels().map((model) => [model.id, model]));
    return [...new Set([...open.keys(), ...saved.keys()])].map((id) => {
      const own = saved.get(id) ?? [];
      const last = own.at(-1);
      const rank = open.get(id)?.rank ?? last!.shape.rank;
      const lastOf = (kind: Checkpoint["kind"]) => own.findLast((checkpoint) => checkpoint.kind === kind);
      const [state, sampler] = [lastOf("weights"), lastOf("sampler_weights")];
      return {
        training_run_id: id,
        base_model: baseName,
        model_owner: "local",
        is_lora: rank > 0,
        lora_rank: rank > 0 ? rank : null,
        last_request_time: open.get(id)?.used.toISOString() ?? last!.time,
        last_checkpoint: state === undefined ? null : describe(state),
        last_sampler_checkpoint: sampler === undefined ? null : describe(sampler),
      };
    });
  };
  const runOf = async (id: string) => {
    const run = (await runs()).find(({ training_run_id }) => training_run_id === id);
    if (run === undefined) throw new RequestError(404, `There is no training run ${id}.`);
    return run;
  };

  app.get("/training_runs", async (context) => {
    const { items, cursor } = pageOf(context, await runs());
    return context.json({ training_runs: items, cursor });
  });
  app.get("/training_runs/:run", async (context) => context.json(await runOf(context.req.param("run"))));
  app.get("/training_runs/:run/checkpoints", async (context) => {
    const { training_run_id: id } = await runOf(context.req.param("run"));
    return context.json({ checkpoints: (await checkpoints.list(id)).map(describe) });
  });
  app.get("/checkpoints", async (context) => {
    const { items, cursor } = pageOf(context, (await checkpoints.list()).map(describe));
    return context.json({ checkpoints: items, cursor });
  });
  app.delete("/training_runs/:run/checkpoints/:kind/:name", async (context) => {
    await checkpoints.remove(pathIn(context));
    return context.body(null, 204);
  });
  app.post("/weights_info", async (context) => {
    const { tinker_path: path } = z.object({ tinker_path: z.string() }).parse(await jsonOf(context));
    const { rank, attention, mlp } = (await checkpoints.find(path)).shape;
    const lora = { lora_rank: rank, train_unembed: false, train_mlp: mlp, train_attn: attention };
    return context.json({ base_model: baseName, is_lora: rank > 0, ...(rank > 0 ? lora : {}) });
  });

  const link = (context: Context, download: Download) => {
    const { token, expires } = links.create(download);
    return { url: `${new URL(context.req.url).origin}${downloadPrefix}${token}`, expires };
  };

  /** Returns the bytes of an archive, or a link to it for clients that ask for JSON. */
  const archive = async (context: Context): Promise<Response> => {
    const { path, folder } = await checkpoints.find(pathIn(context));
    if (!context.req.header("accept")?.includes("application/json")) return tarResponse(folder);
    return context.json(link(context, { path }));
  };
  app.get("/training_runs/:run/checkpoints/:kind/:name/archive", archive);
  app.get("/training_runs/:run/checkpoints/:name/archive", archive);
  app.get("/downloads/:token", async (context) => {
    const download = links.find(context.req.param("token"));
    if (download === undefined) throw new RequestError(404, "The link is unknown or has expired.");
    const { folder } = await checkpoints.find(download.path);
    return download.file === undefined ? tarResponse(folder) : fileResponse(join(folder, download.file));
  });
  app.get("/training_runs/:run/checkpoints/:kind/:name/external_weights_urls", async (context) => {
    const { path, folder, kind } = await checkpoints.find(pathIn(context));
    if (kind !== "external_weights") throw new RequestError(400, `${path} is not a path of external_weights.`);
    const files = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
    const named = files.map(({ name }) => [name, link(context, { path, file: name })] as const);
    const urls = Object.fromEntries(named.map(([name, { url }]) => [name, url]));
    return context.json({ urls, expires: named[0]?.[1].expires ?? new Date() });
  });
  app.put("/training_runs/:run/checkpoints/:kind/:name/ttl", async (context) => {
    await checkpoints.setExpiry(pathIn(context), bodies.ttlBody.parse(await jsonOf(context)).ttl_seconds);
    return context.body(null, 204);
  });
  app.all("/training_runs/:run/checkpoints/:kind/:name/publish", () => {
    throw new RequestError(400, "publish is not supported: all clients of this server see its checkpoints.");
  });
}

const types = { weights: "training", sampler_weights: "sampler", external_weights: "external" } as const;

function describe({ kind, name, path, time, expires, bytes }: Checkpoint) {
  return {
    checkpoint_id: `${kind}/${name}`,
    checkpoint_type: types[kind],
    time,
    tinker_path: path,
    size_bytes: bytes,
    public: false,
    expires_at: expires ?? null,
  };
}

/** Returns the checkpoint path for the parameters of a route. Without a kind, it is that of sampler weights. */
function pathIn(context: Context): string {
  const { run, kind = "sampler_weights", name } = context.req.param() as Record<string, string>;
  return `tinker://${run}/${kind}/${name}`;
}

function pageOf<T>(context: Context, all: readonly T[]) {
  const { limit, offset } = pageSchema.parse(context.req.query());
  return { items: all.slice(offset, offset + limit), cursor: { offset, limit, total_count: all.length } };
}

function tarResponse(folder: string): Response {
  const stream = Readable.toWeb(tarOfFolder(folder)) as ReadableStream<Uint8Array>;
  return new Response(stream, { headers: { "content-type": "application/x-tar" } });
}

async function fileResponse(path: string): Promise<Response> {
  const { size } = await stat(path);
  const stream = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
  const headers = { "content-type": "application/octet-stream", "content-length": String(size) };
  return new Response(stream, { headers });
}
