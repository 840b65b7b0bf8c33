import type { EnvironmentSession } from "../session/session.ts";
import type { RemoteServer } from "./remote-server.ts";

/**
 * The sessions of a remote environment. An instance gives its session back when its episode ends, and another instance
 * takes it. So there can be more instances than the server allows sessions.
 */
export class SessionPool {
  readonly #server: RemoteServer;
  readonly #environment: string;
  readonly #idle: EnvironmentSession[] = [];
  #instances = 0;

  constructor(server: RemoteServer, environment: string) {
    this.#server = server;
    this.#environment = environment;
  }

  /** Counts a new instance. */
  join(): void {
    this.#instances += 1;
  }

  /** Forgets an instance that is closed, and closes the sessions that no instance needs. */
  async leave(): Promise<void> {
    this.#instances -= 1;
    const surplus = this.#idle.splice(0, Math.max(0, this.#idle.length - this.#instances));
    await Promise.all(surplus.map((session) => session.close()));
  }

  /** Returns an idle session or a new one. */
  async acquire(signal: AbortSignal | undefined): Promise<EnvironmentSession> {
    return this.#idle.pop() ?? (await this.#server.open({ environment: this.#environment, signal }));
  }

  /** Takes a session back whose episode has ended. */
  release(session: EnvironmentSession): void {
    this.#idle.push(session);
  }
}
