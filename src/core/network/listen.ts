import type { AddressInfo, Server } from "node:net";
import { LyceumError } from "../../contract/errors/index.ts";
import { warn } from "../text/warn.ts";

/** The address of a server that listens. */
export interface ListeningAddress {
  readonly port: number;
  /** The address and port for a URL, such as `127.0.0.1:8000` or `[::1]:8000`. */
  readonly authority: string;
}

/** Starts to listen. Port 0 is a free one. Rejects with `config.invalid` if the address cannot be used. */
export async function listen(
  server: Server,
  { hostname, port }: { readonly hostname: string; readonly port: number },
): Promise<ListeningAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => reject(cannotListen({ hostname, port, cause })));
    // A server that listens can fail to accept a connection, such as without free file descriptors. It goes on.
    server.on("error", (cause) => server.listening && warn("Server", `A connection failed: ${cause.message}`));
    server.listen(port, hostname, resolve);
  });
  const address = server.address() as AddressInfo;
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return { port: address.port, authority: `${name}:${address.port}` };
}

function cannotListen(options: {
  readonly hostname: string;
  readonly port: number;
  readonly cause: NodeJS.ErrnoException;
}): LyceumError {
  const { hostname, port, cause } = options;
  const reason = cause.code === "EADDRINUSE" ? "it is in use" : cause.message;
  return new LyceumError({
    code: "config.invalid",
    message: `Port ${port} of ${hostname} cannot be used: ${reason}.`,
    hint: "Leave out the port for a free one, choose another, or end the program that uses it.",
    data: { hostname, port },
    cause,
  });
}
