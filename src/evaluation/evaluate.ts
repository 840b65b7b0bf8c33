import { existsSync } from "node:fs";
import type { Episode } from "../contract/episode.ts";
import { type ErrorData, LyceumError } from "../contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../contract/taskset.ts";
import { splitTasks } from "../core/environment/checked-environment.ts";
import { replaceFile } from "../core/files/replace-file.ts";
import { lockRun } from "../core/files/run-lock.ts";
import { episodeId } from "../core/rollout/episode-id.ts";
import { checkEpisodeCount } from "../core/rollout/episode-memory.ts";
import { EpisodeWarnings } from "../core/rollout/episode-warnings.ts";
import { rollout } from "../core/rollout/rollout.ts";
import type { RolloutEvent } from "../core/rollout/rollout-event.ts";
import { checkCount, maxConcurrency, type PlannedTask } from "../core/rollout/rollout-options.ts";
import { taskCount } from "../core/taskset/task-count.ts";
import type { EvaluateOptions } from "./evaluate-options.ts";
import { evaluatedAgents } from "./evaluated-agents.ts";
import type { EpisodeLoggedEvent, EvaluationEvent } from "./evaluation-event.ts";
import { checkSameRun, completeManifest, draftManifest } from "./evaluation-manifest.ts";
import type { EpisodeEntry } from "./log/episode-entry.ts";
import { openLogWriter } from "./log/log-writer.ts";
import { readEntries, readManifest } from "./log/read-log.ts";
import { runFolder } from "./log/run-folder.ts";
import { isOfKey, refusesAll } from "./refuses-all.ts";
import { summarize } from "./summarize.ts";
import { planTasks, type TaskPlan } from "./task-plan.ts";

/**
 * Evaluates policies on an environment's tasks, logs all episodes in a folder and yields events. With
 * `existing: "resume"`, an interrupted or killed run continues and gives the same result as an uninterrupted one.
 *
 * An episode with an error is logged as unscored. Throws `config.invalid` if the folder has another run, if another
 * process writes the folder, or if options are invalid. Throws `trace.write-failed` if a write fails, such as on a full
 * disk. Passes on the errors of the taskset. After the last event, throws `policy.unauthorized` if a server rejected
 * the API key of a policy or a judge, because it would reject all other requests too, `policy.rejected` if it rejected
 * several prompts because of the configuration and answered none, and `aborted` if the signal aborted.
 *
 * @example
 * import { evaluate, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const policies = scriptedPolicy(({ seed }) => String(seed % 100));
 * let episodes = 0;
 * for await (const event of evaluate({ environment, policies, limit: 5, samples: 2, folder: "runs/guess" })) {
 *   if (event.type === "end") episodes = event.summary.counts.episodes;
 * }
 * episodes; // => 10
 */
export async function* evaluate<Task>(
  options: EvaluateOptions<Task>,
): AsyncGenerator<EvaluationEvent, void, undefined> {
  const { environment, policies, folder, samples = 1, seed = 0, signal } = options;
  const begun = performance.now();
  const split = options.split ?? (environment.splits.includes("test") ? "test" : environment.splits[0]!);
  const draft = draftManifest(options, split);
  await using _lock = await lockRun(folder);
  const before = await existingRun(options);
  if (before !== undefined) checkSameRun(folder, before, draft);
  const taskset =
    options.tasks === undefined ? await splitTasks(environment, split, { signal }) : listed(split, options.tasks);
  const hint = "Say how many tasks to play, such as --limit 1000.";
  const count = taskCount(taskset, { split, limit: options.limit, hint });
  checkCount("The number of samples", samples, maxConcurrency);
  checkEpisodeCount({ what: "The evaluation", tasks: count, episodesPerTask: samples, keys: ["limit", "samples"] });
  const plan = await planTasks({ folder, environment, taskset, count, seed, signal });
  const startedAt = before?.startedAt ?? new Date().toISOString();
  const manifest = completeManifest(draft, { ...plan, startedAt });
  const files = runFolder(folder);
  await replaceFile(files.manifest, `${JSON.stringify(manifest, undefined, 2)}\n`);

  const logged: EpisodeLoggedEvent[] = [];
  let stopped: unknown;
  const warnings = new EpisodeWarnings(environment);
  {
    await using log = await openLogWriter({
      folder,
      correct: manifest.correct,
      evaluated: evaluatedAgents(manifest),
      onEntry: (entry, episode) => void logged.push({ type: "episode", entry, episode }),
    });
    const kept = await keptEntries(options);
    yield { type: "start", folder, manifest, played: [...kept.values()] };
    const wholeGroups = environment.scoreGroup !== undefined;
    const tasks = missingTasks({ plan, taskset, samples, wholeGroups, kept });
    const { sampling, limits, concurrency } = options;
    const events = rollout({
      environment: options.pool ?? environment,
      policies,
      tasks,
      groupSize: samples,
      seed,
      trace: log,
      sampling,
      limits,
      concurrency,
      signal,
    });
    try {
      for await (const event of events) {
        if (event.type === "warning") yield event;
        yield* logged.splice(0);
        for (const warning of warnings.of(endedEpisodes(event))) {
          yield { type: "warning", error: contractWarning(warning) };
        }
        const refused = endedEpisodes(event).map(refusesAll).find(Boolean);
        if (refused === undefined || options.ignoreRefusedKeys === true) continue;
        stopped = refusedRun(folder, refused);
        break;
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      stopped = error;
    }
    await log.close();
    yield* logged.splice(0);
  }
  const summary = summarize({
    manifest,
    tasks: plan.tasks,
    entries: await readEntries(folder),
    time: { startedAt, endedAt: new Date().toISOString(), elapsedMs: Math.round(performance.now() - begun) },
  });
  await replaceFile(files.summary, `${JSON.stringify(summary, undefined, 2)}\n`);
  yield { type: "end", summary };
  if (stopped !== undefined) throw stopped;
}

function listed<Task>(name: string, tasks: readonly TaskEntry<Task>[]): Taskset<Task> {
  return { specificationVersion: "v1", name, length: tasks.length, get: async (index) => tasks[index]! };
}

/** The episodes of an event. A `group-end` event has them again, with the rewards of the whole group. */
function endedEpisodes(event: RolloutEvent): readonly Episode[] {
  if (event.type === "episode-end") return [event.episode];
  return event.type === "group-end" ? event.result.episodes : [];
}

function contractWarning(message: string): ErrorData {
  return { name: "LyceumError", code: "environment.contract", message };
}

function refusedRun(folder: string, refused: ErrorData): LyceumError {
  const { code, message, hint = "" } = refused;
  const remedy = isOfKey(refused)
    ? "Correct the key or the account, then run the same command with --retry-failed."
    : `${hint} Then run the command again: with --retry-failed if only the address changes, else with another --output.`;
  return new LyceumError({
    code,
    message,
    hint: `No further requests were sent. ${remedy}`,
    data: { folder },
  });
}

/** Yields the tasks with their missing samples. */
async function* missingTasks<Task>(options: {
  readonly plan: TaskPlan;
  readonly taskset: Taskset<Task>;
  readonly samples: number;
  /** True if the environment scores whole groups. A task with a missing episode is then played again completely. */
  readonly wholeGroups: boolean;
  readonly kept: ReadonlyMap<string, EpisodeEntry>;
}): AsyncGenerator<PlannedTask<Task>, void, undefined> {
  const { plan, taskset, samples, wholeGroups, kept } = options;
  const all = Array.from({ length: samples }, (_, sampleIndex) => sampleIndex);
  for (const line of plan.tasks) {
    const missing = all.filter((sampleIndex) => !kept.has(episodeId({ ...line, sampleIndex })));
    const sampleIndices = wholeGroups && missing.length > 0 ? all : missing;
    // A task without missing samples is not loaded. It is still yielded, because seeds depend on earlier occurrences.
    if (sampleIndices.length === 0) yield { ...line, task: undefined as Task, sampleIndices };
    else yield { ...(await taskset.get(line.index)), sampleIndices };
  }
}

async function keptEntries({ folder, existing }: Pick<EvaluateOptions, "folder" | "existing">) {
  const entries = await readEntries(folder);
  if (existing !== "retry-failed") return entries;
  return new Map([...entries].filter(([, { file, status }]) => file === "episodes" && status !== "failed"));
}

async function existingRun({ folder, existing = "refuse" }: Pick<EvaluateOptions, "folder" | "existing">) {
  if (!existsSync(runFolder(folder).manifest)) return undefined;
  if (existing !== "refuse") return readManifest(folder);
  throw new LyceumError({
    code: "config.invalid",
    message: `There is an evaluation in ${folder} already.`,
    hint: "Continue it with --resume, or name another folder.",
    data: { folder },
  });
}
