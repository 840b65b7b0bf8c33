import type { GraphPlan } from "../models/graph-parameters.ts";
import { GraphSession, type SessionSettings } from "./session.ts";

/** A graph's session, and the parameters that it reads. */
export interface CompiledGraph extends Omit<GraphPlan, "graph"> {
  readonly session: GraphSession;
}

/**
 * Caches the most recently used compiled graphs. A key must cover everything that determines a graph's structure and
 * constants.
 */
export class SessionCache implements AsyncDisposable {
  readonly settings: SessionSettings;
  readonly #limit: number;
  readonly #compiled = new Map<string, CompiledGraph>();

  constructor(settings: SessionSettings, limit = 24) {
    this.settings = settings;
    this.#limit = limit;
  }

  /**
   * Returns the graph for `key`. Compiles the graph from `plan` if it is not cached. If `replaces` is present, releases
   * the other graphs whose keys begin with it first.
   */
  async get(
    key: string,
    plan: () => GraphPlan,
    { replaces }: { readonly replaces?: string | undefined } = {},
  ): Promise<CompiledGraph> {
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      if (replaces !== undefined) await this.release(replaces);
      const { graph, ...parameters } = plan();
      compiled = { session: await GraphSession.create(graph, this.settings), ...parameters };
    } else {
      this.#compiled.delete(key);
    }
    this.#compiled.set(key, compiled);
    for (const [oldKey, old] of this.#compiled) {
      if (this.#compiled.size <= this.#limit) break;
      this.#compiled.delete(oldKey);
      await old.session[Symbol.asyncDispose]();
    }
    return compiled;
  }

  /** Releases all graphs whose key begins with `prefix`. */
  async release(prefix = ""): Promise<void> {
    for (const [key, { session }] of [...this.#compiled]) {
      if (!key.startsWith(prefix)) continue;
      this.#compiled.delete(key);
      await session[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
