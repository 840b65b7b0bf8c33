import { createServer, type IncomingMessage, request as send } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen } from "../../src/core/network/listen.ts";
import { passRequestFromBytes, passRequestToJson, protobufType } from "../../trainers/tinker/protocol/pass-request.ts";
import { sampleResultFromBytes, sampleResultToJson } from "../../trainers/tinker/protocol/sample-result.ts";

// biome-ignore lint/suspicious/noExplicitAny: the bodies are what the two programs send.
type Body = any;

/** A request that a server answered. */
export interface Exchange {
  /** The path after `/api/v1/`, such as `forward_backward`. */
  readonly route: string;
  /** The bodies. Passes and samples in protobuf are read as JSON. Undefined for others that are not JSON. */
  readonly body: Body;
  readonly answer: Body;
}

/** A proxy on loopback that records what passes between a client and a server of the Tinker API. */
export interface RecordingProxy extends AsyncDisposable {
  readonly url: string;
  readonly exchanges: Exchange[];
}

/**
 * Starts a {@link RecordingProxy} in front of a server. `onExchange` is called before the client gets an answer. If the
 * server does not answer, the client's connection ends.
 */
export async function startRecordingProxy(options: {
  readonly url: string;
  readonly onExchange?: (exchange: Exchange) => void;
}): Promise<RecordingProxy> {
  const exchanges: Exchange[] = [];
  /** The ids of samples whose results are not there yet. */
  const samples = new Set<unknown>();
  const server = createServer((request, response) => {
    const forward = async () => {
      const body = await buffer(request);
      const answer = await exchange(`${options.url}${request.url}`, request, body);
      const content = await buffer(answer);
      const route = request.url!.replace(/^\/api\/v1\//, "");
      const sent = isProtobuf(request) ? asJson(passRequestToJson(passRequestFromBytes(body))) : parsed(body);
      const isSample = isProtobuf(answer) && samples.has(sent?.request_id);
      const recorded = {
        route,
        body: sent,
        answer: isSample ? asJson(sampleResultToJson(sampleResultFromBytes(content))) : parsed(content),
      };
      if (route === "asample") samples.add(recorded.answer?.request_id);
      exchanges.push(recorded);
      options.onExchange?.(recorded);
      response.writeHead(answer.statusCode!, answer.headers).end(content);
    };
    forward().catch(() => response.destroy());
  });
  const { authority } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  return {
    url: `http://${authority}`,
    exchanges,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Sends a request to the server. Redirects are the client's. */
function exchange(url: string, { method, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { host: _, ...rest } = headers;
    send(url, { method, headers: rest }, resolve).on("error", reject).end(body);
  });
}

function isProtobuf({ headers }: IncomingMessage): boolean {
  return headers["content-type"]?.startsWith(protobufType) === true;
}

function asJson(value: unknown): Body {
  return JSON.parse(JSON.stringify(value));
}

function parsed(body: Buffer): Body {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
