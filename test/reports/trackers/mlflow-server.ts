import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "../../../src/contract/json.ts";

/** A call that the server received. */
export interface ReceivedCall {
  readonly endpoint: string;
  readonly fields: Record<string, Json>;
  readonly authorization: string | undefined;
}

/** The response to a call: a status and a body. `hang` never responds. */
export type Answer = { readonly status: number; readonly body: Json | string } | "hang";

/**
 * A local server that responds like MLflow, or as `script` says: errors, silence and invalid responses, which a real
 * server seldom gives. The interop suite tests against a real one.
 */
export async function startMlflowServer(
  script: (call: ReceivedCall, count: number) => Answer | undefined = () => undefined,
): Promise<{ readonly url: string; readonly calls: ReceivedCall[] } & AsyncDisposable> {
  const calls: ReceivedCall[] = [];
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    const text = await bodyOf(request);
    const call: ReceivedCall = {
      endpoint: url.pathname.replace("/api/2.0/mlflow/", ""),
      fields: text === "" ? Object.fromEntries(url.searchParams) : (JSON.parse(text) as Record<string, Json>),
      authorization: request.headers.authorization,
    };
    calls.push(call);
    const count = calls.filter(({ endpoint }) => endpoint === call.endpoint).length;
    const answer = script(call, count) ?? { status: 200, body: usual(call) };
    if (answer === "hang") return;
    const { status, body } = answer;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function usual({ endpoint }: ReceivedCall): Json {
  if (endpoint === "experiments/get-by-name") return { experiment: { experiment_id: "7" } };
  if (endpoint === "runs/create") return { run: { info: { run_id: "run-1" } } };
  return {};
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}
