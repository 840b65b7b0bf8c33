import { createSandbox, type SandboxChoice } from "../../sandbox/create-sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { type SharedResource, sharedResource } from "../../src/core/environment/shared-resource.ts";
import type { ToolRecord } from "../../src/core/tools/tool.ts";
import { createToolSet } from "../../src/core/tools/tool-set.ts";
import { calculatorTool } from "./calculator.ts";
import { documents } from "./documents.ts";
import { EpisodeFolder } from "./episode-folder.ts";
import { fileTools } from "./file-tools.ts";
import { interpreterTool } from "./interpreter-tool.ts";
import { connectServers } from "./mcp-connections.ts";
import { offlineSearch } from "./offline-search.ts";
import { type SearchEngine, searchTool } from "./search-tool.ts";
import type { SearchEngineName, ToolSetName, ToolsOptions } from "./tools-options.ts";
import { braveSearch, searxngSearch, tavilySearch } from "./web-search.ts";

/** The sandboxes that support each language. */
const runs: Readonly<Record<"python" | "javascript", readonly SandboxChoice[]>> = {
  python: ["docker", "bubblewrap", "pyodide"],
  javascript: ["docker", "isolated-vm"],
};

/** The tools of an environment, and the resources of its instances. */
export interface ToolBox {
  /** The tools that are known before resources are opened: all except those of MCP servers. */
  readonly tools: readonly ToolRecord[];
  /**
   * Opens the sandboxes and servers, which stay open until the result is disposed. Rejects with the errors of
   * `createSandbox` and `mcpTools`.
   */
  open(): Promise<OpenTools>;
  /** Returns the names of all tools. Connects to the MCP servers, if there are any. */
  names(): Promise<readonly string[]>;
}

/** The resources of one instance: the sandboxes and servers with their tools, and the folder of the current episode. */
export class OpenTools implements AsyncDisposable {
  /** All tools that a model may call. */
  readonly tools: readonly ToolRecord[];
  readonly #resources: AsyncDisposable;
  #folder: EpisodeFolder | undefined;

  constructor(tools: readonly ToolRecord[], resources: AsyncDisposable) {
    this.tools = tools;
    this.#resources = resources;
  }

  /** Creates a folder for a new episode and removes the last one's. */
  async newFolder(): Promise<EpisodeFolder> {
    await this.removeFolder();
    this.#folder = new EpisodeFolder();
    return this.#folder;
  }

  /** Removes the episode's folder, if it still exists. */
  async removeFolder(): Promise<void> {
    const folder = this.#folder;
    this.#folder = undefined;
    await folder?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.removeFolder();
    } finally {
      await this.#resources[Symbol.asyncDispose]();
    }
  }
}

/** Creates the tools that the options name. `engine`, if given, replaces the options' search engine. */
export function createToolBox(
  options: Pick<ToolsOptions, "tools" | "mcp" | "sandbox" | "cpuSeconds" | "engine" | "engineUrl">,
  more: { readonly engine?: SearchEngine | undefined; readonly tools?: ToolRecord | undefined },
): ToolBox {
  const { tools: names, sandbox: backend, cpuSeconds } = options;
  const sandboxes: (() => Promise<SharedResource<Sandbox>>)[] = [];
  const interpreter = (language: "python" | "javascript"): ToolRecord => {
    const sandbox = sharedResource(() =>
      createSandbox({ language, backend: runs[language].includes(backend) ? backend : "auto" }),
    );
    sandboxes.push(sandbox);
    return { [language]: interpreterTool({ language, sandbox, cpuSeconds }) };
  };
  const sets: Readonly<Record<ToolSetName, () => ToolRecord>> = {
    calculator: () => ({ calculator: calculatorTool }),
    search: () => ({ web_search: searchTool(more.engine ?? namedEngine(options)) }),
    files: () => fileTools,
    python: () => interpreter("python"),
    javascript: () => interpreter("javascript"),
  };
  const tools = [...[...new Set(names)].map((name) => sets[name]()), more.tools ?? {}];
  createToolSet(tools);
  const holdServers = sharedResource(() => connectServers(options.mcp));
  return {
    tools,
    open: async () => {
      await using stack = new AsyncDisposableStack();
      for (const openSandbox of sandboxes) stack.use(await openSandbox());
      const all = [...tools, ...stack.use(await holdServers()).value.tools];
      createToolSet(all);
      return new OpenTools(all, stack.move());
    },
    names: async () => {
      await using held = await holdServers();
      return createToolSet([...tools, ...held.value.tools]).specs.map(({ name }) => name);
    },
  };
}

function namedEngine({ engine, engineUrl: url }: Pick<ToolsOptions, "engine" | "engineUrl">): SearchEngine {
  const engines: Readonly<Record<SearchEngineName, () => SearchEngine>> = {
    offline: () => offlineSearch(documents),
    searxng: () => searxngSearch({ url }),
    brave: () => braveSearch({ url }),
    tavily: () => tavilySearch({ url }),
  };
  return engines[engine]();
}
