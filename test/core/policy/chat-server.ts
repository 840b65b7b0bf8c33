import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** The body of a chat request, as the server read it. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly tool_calls?: readonly unknown[];
    readonly tool_call_id?: string;
  }[];
  readonly [key: string]: unknown;
}

/** The server's reaction to a request: a status with a body, or a function that handles the response. */
export type ChatAnswer =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: unknown;
    }
  | ((response: ServerResponse, request: IncomingMessage) => void);

/** A server on its own port that answers chat requests by `script` and records them. */
export interface ChatServer extends AsyncDisposable {
  /** The address of its API. */
  readonly baseUrl: string;
  readonly requests: { readonly body: ChatRequest; readonly headers: IncomingMessage["headers"] }[];
  /** The number of requests whose client closed the connection before the answer. */
  readonly abandoned: () => number;
  /** The largest number of concurrent requests. */
  readonly busiest: () => number;
}

export async function chatServer(
  answer: (request: ChatRequest, index: number) => ChatAnswer | Promise<ChatAnswer>,
): Promise<ChatServer> {
  const requests: { readonly body: ChatRequest; readonly headers: IncomingMessage["headers"] }[] = [];
  let abandoned = 0;
  let underWay = 0;
  let busiest = 0;
  const server = createServer((request, response) => {
    underWay += 1;
    busiest = Math.max(busiest, underWay);
    response.on("close", () => {
      underWay -= 1;
      if (!response.writableFinished) abandoned += 1;
    });
    void respond(request, response);
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    const body = JSON.parse(text === "" ? "{}" : text) as ChatRequest;
    requests.push({ body, headers: request.headers });
    const answered = await answer(body, requests.length - 1);
    if (typeof answered === "function") return answered(response, request);
    response.writeHead(answered.status ?? 200, { "content-type": "application/json", ...answered.headers });
    response.end(typeof answered.body === "string" ? answered.body : JSON.stringify(answered.body));
  };
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    abandoned: () => abandoned,
    busiest: () => busiest,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A valid answer: one choice, whose fields may be replaced, and its usage. */
export function completion(
  content: string | null,
  options: { readonly choice?: object; readonly message?: object; readonly body?: object } = {},
): { readonly body: object } {
  return {
    body: {
      object: "chat.completion",
      choices: [
        {
          index: 0,
          finish_reason: "stop",
          message: { role: "assistant", content, ...options.message },
          ...options.choice,
        },
      ],
      usage: { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 },
      ...options.body,
    },
  };
}
