import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { LyceumError, toErrorData } from "../../contract/errors/index.ts";
import type { Policy } from "../../contract/policy.ts";
import { startCall } from "../rollout/running-call.ts";
import { parseExactJson } from "../text/exact-json.ts";
import { type ScriptedAnswer, scriptedPolicy } from "./scripted-policy.ts";

/**
 * Reads a policy from a file: JSON with a list of answers, one per turn, or a module whose default export is such a
 * list, a function from a request to an answer, or a policy. Throws `data.not-found` and `data.malformed`.
 */
export async function scriptFile(path: string): Promise<Policy> {
  const script = /\.[cm]?[jt]s$/.test(path) ? await defaultExport(path) : await readJson(path);
  if (typeof (script as Partial<Policy> | null)?.act === "function") return script as Policy;
  const name = `scripted:${path}`;
  if (typeof script === "function") return scriptedPolicy(script as Parameters<typeof scriptedPolicy>[0], { name });
  if (Array.isArray(script) && script.every(isAnswer)) return scriptedPolicy(script, { name });
  throw malformed(path, "it is neither a list of answers, a function nor a policy");
}

function isAnswer(value: unknown): value is ScriptedAnswer {
  return (
    typeof value === "string" ||
    (typeof value === "object" && value !== null && ("content" in value || "message" in value))
  );
}

async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw notFound(path, cause);
  });
  try {
    return parseExactJson(text);
  } catch (cause) {
    throw malformed(path, (cause as Error).message, cause);
  }
}

async function defaultExport(path: string): Promise<unknown> {
  if (!existsSync(path)) throw notFound(path);
  try {
    const module = await startCall(
      { subject: `module "${path}"`, call: "import" },
      (): Promise<{ readonly default?: unknown }> => import(pathToFileURL(resolve(path)).href),
    );
    return module.default;
  } catch (cause) {
    throw malformed(path, toErrorData(cause).message, cause);
  }
}

function notFound(path: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "data.not-found",
    message: `There is no script ${path} to read.`,
    hint: "Use a JSON file with a list of answers, or a module.",
    data: { path },
    cause,
  });
}

function malformed(path: string, problem: string, cause?: unknown): LyceumError {
  return new LyceumError({
    code: "data.malformed",
    message: `The script ${path} cannot be used: ${problem}.`,
    hint: 'Write ["first answer", "second answer"], or a module with a default export (request) => "answer".',
    data: { path },
    cause,
  });
}
