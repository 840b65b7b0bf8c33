import { createSandbox, type SandboxChoice } from "../../sandbox/create-sandbox.ts";
import { SharedSandbox } from "../../sandbox/shared-sandbox.ts";
import { calculatorTool } from "./calculator.ts";
import { documents } from "./documents.ts";
import { EpisodeFolder } from "./episode-folder.ts";
import { fileTools } from "./file-tools.ts";
import { interpreterTool } from "./interpreter-tool.ts";
import { offlineSearch } from "./offline-search.ts";
import { type SearchEngine, searchTool } from "./search-tool.ts";
import type { Tool } from "./tool.ts";
import type { SearchEngineName, ToolSetName, ToolsOptions } from "./tools-options.ts";
import { braveSearch, searxngSearch, tavilySearch } from "./web-search.ts";

/** The sandboxes of each language. */
const runs: Readonly<Record<"python" | "javascript", readonly SandboxChoice[]>> = {
  python: ["docker", "bubblewrap", "pyodide"],
  javascript: ["docker", "isolated-vm"],
};

/** The tools of an environment, and what its instances hold for them. */
export interface ToolBox {
  readonly tools: readonly Tool[];
  /** Keeps the sandboxes open until it is disposed of. Rejects as `createSandbox` does. */
  open(): Promise<HeldTools>;
}

/** What one instance holds: the sandboxes, and the folder of the episode that runs. */
export class HeldTools implements AsyncDisposable {
  readonly #sandboxes: AsyncDisposable;
  #folder: EpisodeFolder | undefined;

  constructor(sandboxes: AsyncDisposable) {
    this.#sandboxes = sandboxes;
  }

  /** A folder for a new episode, in place of the last one's. */
  async newFolder(): Promise<EpisodeFolder> {
    await this.removeFolder();
    this.#folder = new EpisodeFolder();
    return this.#folder;
  }

  /** Removes the episode's folder; doing so twice is harmless. */
  async removeFolder(): Promise<void> {
    const folder = this.#folder;
    this.#folder = undefined;
    await folder?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.removeFolder();
    } finally {
      await this.#sandboxes[Symbol.asyncDispose]();
    }
  }
}

/** The tools that the options name, with `engine` for searches in place of the one that they name. */
export function createToolBox(
  options: Pick<ToolsOptions, "tools" | "sandbox" | "cpuSeconds" | "engine" | "engineUrl">,
  more: { readonly engine?: SearchEngine | undefined; readonly tools?: readonly Tool[] | undefined },
): ToolBox {
  const { tools: names, sandbox: backend, cpuSeconds } = options;
  const shared: SharedSandbox[] = [];
  const interpreter = (language: "python" | "javascript"): readonly Tool[] => {
    const sandbox = new SharedSandbox(() =>
      createSandbox({ language, backend: runs[language].includes(backend) ? backend : "auto" }),
    );
    shared.push(sandbox);
    return [interpreterTool({ language, sandbox, cpuSeconds })];
  };
  const sets: Readonly<Record<ToolSetName, () => readonly Tool[]>> = {
    calculator: () => [calculatorTool],
    search: () => [searchTool(more.engine ?? namedEngine(options))],
    files: () => fileTools,
    python: () => interpreter("python"),
    javascript: () => interpreter("javascript"),
  };
  const tools = [...new Set(names)].flatMap((name) => sets[name]());
  return {
    tools: [...tools, ...(more.tools ?? [])],
    open: async () => {
      await using stack = new AsyncDisposableStack();
      for (const sandbox of shared) stack.use(await sandbox.hold());
      return new HeldTools(stack.move());
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
