import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy whose connections can go silent, as if a cable was cut: neither side learns of it. */
export interface HalfOpenProxy extends AsyncDisposable {
  readonly port: number;
  /** Lets the open connections forward nothing more. New ones work. */
  silence(): void;
}

/** Starts a proxy to a port of this machine. */
export async function halfOpenProxy(target: number): Promise<HalfOpenProxy> {
  const open = new Set<{ silent: boolean; sockets: readonly Socket[] }>();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    const connection = { silent: false, sockets: [client, upstream] };
    open.add(connection);
    const pairs = [
      [client, upstream],
      [upstream, client],
    ] as const;
    for (const [from, to] of pairs) {
      from.on("data", (data) => connection.silent || to.write(data));
      from.on("error", () => {});
      from.on("close", () => connection.silent || to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    silence: () => {
      for (const connection of open) connection.silent = true;
    },
    [Symbol.asyncDispose]: async () => {
      for (const { sockets } of open) for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
