import type { ServerResponse } from "node:http";
import { protobufType } from "../../../trainers/tinker/protocol/pass-request.ts";
import type { Answer, Fault } from "./tinker-server.ts";

/** The faults of one request and its answer. */
export const mishaps = [
  "none",
  "refused-for-now",
  "too-many",
  "failed-before",
  "dropped-before",
  "failed-after",
  "dropped-after",
  "truncated",
  "slow",
  "not-ready",
  "earlier-answer",
  "swapped",
  "wrong-type",
  "gone",
] as const;

export type Mishap = (typeof mishaps)[number];

/** The time that an answer waits for another one to swap with, and the delay of a slow answer, in milliseconds. */
const swapMs = 3;
const slowMs = 8;

/** Does the next mishap of a list to each request, and none after its end. */
export function misfortune(list: readonly Mishap[], only: (route: string) => boolean = () => true): Fault {
  const left = [...list];
  const mishapOf = new WeakMap<ServerResponse, Mishap>();
  let earlier: Answer | undefined;
  let parked:
    | { readonly response: ServerResponse; readonly answer: Answer; readonly release: NodeJS.Timeout }
    | undefined;

  const send = (response: ServerResponse, { status, headers, body }: Answer): true => {
    response.writeHead(status, { ...headers, "retry-after-ms": "1" }).end(body);
    return true;
  };
  const fail = (response: ServerResponse, status: number, body = "{}"): true =>
    send(response, { status, headers: { "content-type": "application/json" }, body: Buffer.from(body) });
  const swap = (response: ServerResponse, answer: Answer): void => {
    if (parked === undefined) {
      const release = setTimeout(() => {
        parked = undefined;
        send(response, answer);
      }, swapMs);
      parked = { response, answer, release };
      return;
    }
    const other = parked;
    parked = undefined;
    clearTimeout(other.release);
    send(response, other.answer);
    send(other.response, answer);
  };

  return {
    before: (route, request, response) => {
      const mishap = only(route) ? (left.shift() ?? "none") : "none";
      mishapOf.set(response, mishap);
      if (mishap === "refused-for-now") return fail(response, 408);
      if (mishap === "too-many") return fail(response, 429);
      if (mishap === "failed-before") return fail(response, 503);
      if (mishap === "gone" && route === "retrieve_future") return fail(response, 410);
      if (mishap !== "dropped-before") return false;
      request.socket.destroy();
      return true;
    },
    after: (route, response, answer) => {
      const mishap = mishapOf.get(response);
      const last = earlier;
      if (answer.status === 200) earlier = answer;
      switch (mishap) {
        case "failed-after":
          return fail(response, 500);
        case "truncated":
          return send(response, { ...answer, body: answer.body.subarray(0, answer.body.length / 2) });
        case "dropped-after":
          response.socket?.destroy();
          return true;
        case "slow":
          setTimeout(() => send(response, answer), slowMs);
          return true;
        case "not-ready":
          return route === "retrieve_future" && fail(response, 200, '{"type":"try_again"}');
        case "earlier-answer":
          return last !== undefined && send(response, last);
        case "swapped":
          swap(response, answer);
          return true;
        case "wrong-type": {
          const type = answer.headers["content-type"] === protobufType ? "text/html" : protobufType;
          return send(response, { ...answer, headers: { ...answer.headers, "content-type": type } });
        }
        default:
          return false;
      }
    },
  };
}
