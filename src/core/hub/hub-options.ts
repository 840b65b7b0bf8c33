import { homedir } from "node:os";
import { join } from "node:path";
import { LyceumError } from "../../contract/errors/index.ts";

/** A repository of the Hugging Face hub, at a branch, tag or commit (`main` by default). */
export interface HubRepository {
  /** `owner/name`. */
  readonly repository: string;
  readonly type: "model" | "dataset";
  readonly revision?: string;
}

/** A file of a repository. `path` is relative to the repository's root, with forward slashes. */
export interface HubFile extends HubRepository {
  readonly path: string;
}

/** The connection to the hub. Absent options are read from the environment variables of Hugging Face's own tools. */
export interface HubOptions {
  readonly signal?: AbortSignal;
  readonly fetch?: typeof fetch;
  /** The hub's address. Default: `HF_ENDPOINT`, or else the public hub. */
  readonly hubUrl?: string;
  /**
   * The cache folder, shared with Python. Default: `HF_HUB_CACHE`, or else `hub` in `HF_HOME`, or else
   * `~/.cache/huggingface/hub`.
   */
  readonly cacheFolder?: string;
  /** An access token (`hf_...`). Default: `HF_TOKEN`. Without a token, only public repositories can be read. */
  readonly token?: string;
  /** The timeout in milliseconds after which a request without new data fails. Default: 60,000. */
  readonly timeoutMs?: number;
}

/** {@link HubOptions} with all defaults filled in. */
export interface HubSettings {
  readonly signal: AbortSignal | undefined;
  readonly fetch: typeof fetch;
  /** Undefined for the public hub. */
  readonly hubUrl: string | undefined;
  readonly cacheFolder: string;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  /** True with `HF_HUB_OFFLINE=1`: no request is sent to the hub. */
  readonly offline: boolean;
}

/** Fills in defaults from the environment. Throws `config.invalid` for a malformed token. */
export function hubSettings(options: HubOptions = {}): HubSettings {
  const { env } = process;
  const token = options.token ?? (env.HF_TOKEN || undefined);
  if (token !== undefined && !/^hf_\S+$/.test(token)) {
    throw new LyceumError({
      code: "config.invalid",
      message: "The Hugging Face token is malformed.",
      hint: 'A token begins with "hf_". Check HF_TOKEN, or unset it to read public repositories only.',
    });
  }
  return {
    signal: options.signal,
    fetch: options.fetch ?? globalThis.fetch,
    hubUrl: (options.hubUrl ?? (env.HF_ENDPOINT || undefined))?.replace(/\/+$/, ""),
    cacheFolder: options.cacheFolder ?? cacheFolderOf(env),
    token,
    timeoutMs: options.timeoutMs ?? 60_000,
    offline: /^(1|true|yes|on)$/i.test(env.HF_HUB_OFFLINE ?? ""),
  };
}

function cacheFolderOf(env: NodeJS.ProcessEnv): string {
  const named = env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE;
  if (named) return named;
  const home = env.HF_HOME || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "huggingface");
  return join(home, "hub");
}

/** Throws `config.invalid` for a malformed repository, revision or path, and for a path that leaves its folder. */
export function checkHubNames(file: HubRepository & { readonly path?: string }): void {
  const { repository, revision, path } = file;
  if (!/^[\w.-]+(\/[\w.-]+)?$/.test(repository) || leavesFolder(repository)) {
    throw invalid("repository", repository, "A repository is named owner/name.");
  }
  if (revision !== undefined && (!/^[\w./-]+$/.test(revision) || leavesFolder(revision))) {
    throw invalid("revision", revision, "A revision is a branch, a tag or a commit hash.");
  }
  if (path !== undefined && leavesFolder(path)) {
    throw invalid("path", path, "A path is relative to the repository's root and stays inside it.");
  }
}

function leavesFolder(path: string): boolean {
  return /[\\\0]/.test(path) || path.split("/").some((part) => part === "" || part === "." || part === "..");
}

function invalid(kind: string, value: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message: `The hub ${kind} "${value}" is malformed.`, hint });
}
