import type { IncomingMessage } from "node:http";

const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/** True if an address reaches only this machine. */
export function isLoopback(host: string): boolean {
  return ["localhost", "127.0.0.1", "::1"].includes(host);
}

/**
 * Returns why a request to a server on the loopback address is refused: a page of another site, which a browser on this
 * machine shows, could otherwise use the server. Returns undefined if the request is allowed.
 */
export function foreignRequest({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const host = headers.host ?? "";
  if (!loopbackNames.includes(host.replace(/:\d+$/, "").toLowerCase())) return "host";
  const { origin } = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return "origin";
  return undefined;
}
