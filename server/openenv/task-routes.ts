import type { Hono } from "hono";
import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { ServedEnvironment, ServedSplit } from "../session/environment-runner.ts";
import type { SessionHost } from "../session/session-host.ts";
import { bodyOf } from "./environment-routes.ts";
import { checked } from "./openenv-session.ts";

/** The maximum number of tasks in one answer. */
const maxTasks = 10_000;

const bySplit = z.object({ split: z.string() });
const byIndex = z.object({ split: z.string(), index: z.int() });
const byRange = z.object({ split: z.string(), start: z.int().min(0).nullish(), stop: z.int().min(0).nullish() });

/**
 * Adds the routes for the tasks of one environment under `base`: OpenEnv's Task API, which is also that of ORS. A task is
 * its split, index, id and hash, not its content.
 */
export function addTaskRoutes(
  app: Hono,
  {
    host,
    environment,
    base,
  }: { readonly host: SessionHost; readonly environment: ServedEnvironment; readonly base: string },
): void {
  const { name, splits } = environment;
  const range = async (split: string, start: number, stop: number): Promise<readonly unknown[]> => {
    const { length } = splitOf(splits, split);
    const end = Math.min(stop, length === "unbounded" ? start + maxTasks : length, start + maxTasks);
    return host.runner.tasks({ environment: name, split, start, stop: end });
  };
  app.get(`${base}/splits`, (context) => context.json(splits.map(({ name }) => ({ name, type: splitType(name) }))));
  app.post(`${base}/num_tasks`, async (context) => {
    const { length } = splitOf(splits, checked(bySplit, await bodyOf(context), "request").split);
    if (length === "unbounded") return context.json({ detail: "The split is unbounded." }, 501);
    return context.json({ num_tasks: length });
  });
  app.post(`${base}/tasks`, async (context) => {
    const { split } = checked(bySplit, await bodyOf(context), "request");
    return context.json({ tasks: await range(split, 0, maxTasks), env_name: name });
  });
  app.post(`${base}/task`, async (context) => {
    const { split, index } = checked(byIndex, await bodyOf(context), "request");
    const { length } = splitOf(splits, split);
    if (index < 0 || (length !== "unbounded" && index >= length)) throw noTask(split, index);
    return context.json({ task: (await range(split, index, index + 1))[0], env_name: name });
  });
  app.post(`${base}/task_range`, async (context) => {
    const { split, start, stop } = checked(byRange, await bodyOf(context), "request");
    return context.json({ tasks: await range(split, start ?? 0, stop ?? Infinity), env_name: name });
  });
}

function splitOf(splits: readonly ServedSplit[], name: string): ServedSplit {
  const split = splits.find((one) => one.name === name);
  if (split !== undefined) return split;
  throw new LyceumError({
    code: "data.out-of-range",
    message: `There is no split "${name}".`,
    hint: `The splits are: ${splits.map((one) => one.name).join(", ")}.`,
  });
}

/** OpenEnv knows three types of splits. */
function splitType(name: string): "train" | "validation" | "test" {
  return name === "train" || name === "test" ? name : "validation";
}

function noTask(split: string, index: number): LyceumError {
  return new LyceumError({
    code: "data.out-of-range",
    message: `The split "${split}" has no task ${index}.`,
    hint: "POST num_tasks gives the number of tasks.",
  });
}
