import { isJsonObject, type Json, type JsonObject } from "../../../src/contract/json.ts";
import type { ToolSpec } from "../../../src/contract/message.ts";
import { contentHash } from "../../../src/core/taskset/content-hash.ts";
import type { ServedSplit, ServedTask } from "../../session/environment-runner.ts";
import type { RemoteAddress } from "../remote-address.ts";
import { answerError, otherProtocolError } from "../remote-error.ts";
import type { RemoteSettings } from "../remote-options.ts";
import type { RemoteDescription, RemoteServer } from "../remote-server.ts";
import type { OpenEnvDialect } from "./dialect.ts";
import { lyceumDialect } from "./lyceum-dialect.ts";
import { servedSchema, servedTasksSchema } from "./lyceum-schema.ts";
import { OpenEnvHttp } from "./openenv-http.ts";
import { openEnvSession } from "./openenv-session.ts";
import { plainActions, plainDialect } from "./plain-dialect.ts";

/** What a plain server does not state. */
const unknownSpec = { maxTurns: 100, rewardRange: [0, 1] as const, deterministic: false };

/** Returns the client of an OpenEnv server: one by Lyceum, or any other. A session is a WebSocket. */
export function openEnvServer({ base, shown }: RemoteAddress, settings: RemoteSettings): RemoteServer {
  const http = new OpenEnvHttp({ shown, settings });
  let dialect: OpenEnvDialect = lyceumDialect;
  let isLyceum = false;

  const describePlain = async (metadata: JsonObject, signal: AbortSignal | undefined): Promise<RemoteDescription> => {
    const name = nameOf(metadata);
    const schema = await http.json(`${base}/schema`, { signal });
    const tools = toolsIn(await http.json(`${base}/mcp`, { body: listTools, signal }));
    const description = typeof metadata.description === "string" ? metadata.description : undefined;
    const action = isJsonObject(schema) && isJsonObject(schema.action) ? schema.action : {};
    dialect = plainDialect({ ...plainActions(action, { takesCalls: tools.length > 0 }), description });
    const splits = await splitsOf(name, signal);
    return {
      name,
      spec: { id: name, agents: ["agent"], ...unknownSpec, description, ...(tools.length === 0 ? {} : { tools }) },
      splits: splits ?? [{ name: "train", length: "unbounded" }],
      seedIsTask: splits === undefined,
    };
  };

  /** Returns the splits of a server with a Task API. */
  const splitsOf = async (name: string, signal: AbortSignal | undefined): Promise<ServedSplit[] | undefined> => {
    const listed = await http.json(`${base}/${encodeURIComponent(name)}/splits`, { signal });
    if (!Array.isArray(listed) || listed.length === 0) return undefined;
    const splits: ServedSplit[] = [];
    for (const split of listed as readonly Json[]) {
      const called = isJsonObject(split) ? split.name : split;
      if (typeof called !== "string") throw answerError(shown, "a split has no name.");
      const counted = await http.json(`${base}/${encodeURIComponent(name)}/num_tasks`, {
        body: { split: called },
        signal,
      });
      const count = isJsonObject(counted) ? counted.num_tasks : undefined;
      if (typeof count !== "number") return undefined;
      splits.push({ name: called, length: count });
    }
    return splits;
  };

  return {
    keepsSessions: false,
    describe: async ({ signal }) => {
      const metadata = await http.json(`${base}/metadata`, { signal });
      if (!isJsonObject(metadata)) {
        const isOrs = Array.isArray(await http.json(`${base}/list_environments`, { signal }));
        throw isOrs ? otherProtocolError(shown, "ORS") : answerError(shown, "/metadata is missing.");
      }
      if (metadata.lyceum === undefined) return describePlain(metadata, signal);
      const served = servedSchema.safeParse(metadata.lyceum);
      if (!served.success) throw answerError(shown, "/metadata has no valid spec and splits.", served.error);
      isLyceum = true;
      dialect = lyceumDialect;
      return {
        name: nameOf(metadata),
        ...(served.data as Pick<RemoteDescription, "spec" | "splits" | "scoresGroups">),
      };
    },
    tasks: async ({ environment, split, start, stop, signal }) => {
      const indices = Array.from({ length: Math.max(0, stop - start) }, (_, offset) => start + offset);
      const prefix = base.endsWith(`/${environment}`) ? base : `${base}/${encodeURIComponent(environment)}`;
      const answer = await http.json(`${prefix}/task_range`, { body: { split, start, stop }, signal });
      if (isLyceum) {
        const { success, data, error } = servedTasksSchema.safeParse(answer);
        if (!success) throw answerError(shown, "task_range has no valid tasks.", error);
        return (data as { readonly tasks: readonly ServedTask[] }).tasks;
      }
      const tasks = isJsonObject(answer) && Array.isArray(answer.tasks) ? (answer.tasks as readonly Json[]) : [];
      return indices.map((index, place) => plainTask({ split, index, content: tasks[place] ?? index }));
    },
    open: async ({ environment }) =>
      openEnvSession({ url: `${base.replace(/^http/, "ws")}/ws`, shown, environment, settings, dialect }),
  };
}

const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

function nameOf({ name }: JsonObject): string {
  return typeof name === "string" && name !== "" ? name : "remote";
}

function plainTask(task: { readonly split: string; readonly index: number; readonly content: Json }): ServedTask {
  const { split, index, content } = task;
  const id = isJsonObject(content) ? (content.id ?? content.task_id) : undefined;
  return { split, index, id: String(id ?? index), hash: contentHash({ split, content }) };
}

/** Returns the tools in an answer of MCP. A server without tools answers with an error. */
function toolsIn(answer: Json | undefined): readonly ToolSpec[] {
  const result = isJsonObject(answer) ? answer.result : undefined;
  const tools = isJsonObject(result) && Array.isArray(result.tools) ? (result.tools as readonly Json[]) : [];
  return tools.flatMap((tool) => {
    if (!isJsonObject(tool) || typeof tool.name !== "string") return [];
    const { name, description } = tool;
    const parameters = tool.inputSchema ?? tool.input_schema ?? { type: "object", properties: {} };
    return [{ name, description: typeof description === "string" ? description : "", parameters }];
  });
}
