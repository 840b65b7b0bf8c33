import type { GraphPlan } from "../models/graph-parameters.ts";
import { GraphSession, type SessionSettings } from "./session.ts";

/**
 * How far the memory of the process may grow after a graph is compiled: relative to its largest run, and the bytes of the
 * graph itself. The runtime's arena gets more gaps with each new shape.
 */
const mostGrowth = { ofRun: 1.2, graph: 2 ** 27 };

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
  /** The resident memory before a graph was compiled, and the bytes of its largest run. */
  readonly #memory = new WeakMap<CompiledGraph, { readonly before: number; largest: number }>();

  constructor(settings: SessionSettings, limit = 24) {
    this.settings = settings;
    this.#limit = limit;
  }

  /**
   * Returns the graph for `key`. Compiles the graph from `plan` if it is not cached, `asWritten` or rewritten by the
   * runtime. If `replaces` is present, releases the other graphs whose keys begin with it first.
   */
  async get(
    key: string,
    plan: () => GraphPlan,
    options: { readonly replaces?: string | undefined; readonly asWritten?: boolean } = {},
  ): Promise<CompiledGraph> {
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      if (options.replaces !== undefined) await this.release(options.replaces);
      const before = process.memoryUsage.rss();
      const { graph, ...parameters } = plan();
      compiled = { session: await GraphSession.create(graph, this.settings, options), ...parameters };
      this.#memory.set(compiled, { before, largest: 0 });
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

  /**
   * Releases a graph after a run of about `bytes`, if the memory of the process has grown by much more than its largest
   * run needs. The graph is compiled again when it is next used.
   */
  async releaseIfGrown(compiled: CompiledGraph, bytes: number): Promise<void> {
    const memory = this.#memory.get(compiled)!;
    memory.largest = Math.max(memory.largest, bytes);
    const grown = process.memoryUsage.rss() - memory.before;
    if (grown <= mostGrowth.ofRun * memory.largest + mostGrowth.graph) return;
    const found = [...this.#compiled].find(([, cached]) => cached === compiled);
    if (found !== undefined) await this.release(found[0]);
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
