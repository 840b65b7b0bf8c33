import { constants } from "node:fs";
import { lstat, mkdir, mkdtemp, open, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

/** The limits of an episode's folder. */
const limits = { files: 64, fileBytes: 65_536, depth: 4, nameCharacters: 64 } as const;

/**
 * The temporary folder of one episode, created on first use. Paths are relative and consist of plain names: letters,
 * digits, `_`, `-` and `.`, without a leading dot. Links are not followed, so nothing outside the folder is read or
 * written. Disposing removes the folder. Error messages are meant for a model and do not contain the folder's location.
 */
export class EpisodeFolder implements AsyncDisposable {
  #root: Promise<string> | undefined;
  #disposed = false;

  /** Writes a complete file and creates its parent folders. */
  async write(path: string, text: string): Promise<void> {
    const bytes = Buffer.from(text, "utf8");
    if (bytes.length > limits.fileBytes) throw new Error(`a file has at most ${limits.fileBytes} bytes.`);
    const parts = splitPath(path);
    const root = await this.#open();
    const file = join(root, ...parts);
    const kind = await this.#kindOf(root, parts);
    if (kind === "folder") throw new Error(`"${path}" is a folder.`);
    if (kind === "nothing" && (await this.list()).length >= limits.files) {
      throw new Error(`there are at most ${limits.files} files.`);
    }
    await mkdir(join(root, ...parts.slice(0, -1)), { recursive: true });
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    await using handle = await open(file, flags, 0o600);
    await handle.writeFile(bytes);
  }

  /** Returns the text of a file. */
  async read(path: string): Promise<string> {
    const parts = splitPath(path);
    const root = await this.#open();
    const kind = await this.#kindOf(root, parts);
    if (kind === "folder") throw new Error(`"${path}" is a folder.`);
    if (kind === "nothing") {
      const files = await this.list();
      throw new Error(`there is no file "${path}". Files: ${files.map((file) => file.path).join(", ") || "none"}.`);
    }
    await using handle = await open(join(root, ...parts), constants.O_RDONLY | constants.O_NOFOLLOW);
    const bytes = Buffer.alloc(limits.fileBytes);
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    return bytes.toString("utf8", 0, bytesRead);
  }

  /** Returns all files, sorted by path. */
  async list(): Promise<readonly { readonly path: string; readonly bytes: number }[]> {
    const root = await this.#open();
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const sized = await Promise.all(
      files.map(async (file) => ({ path: relative(root, file), bytes: (await lstat(file)).size })),
    );
    return sized.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const root = this.#root;
    this.#root = undefined;
    if (root !== undefined) await rm(await root, { recursive: true, force: true });
  }

  async #open(): Promise<string> {
    if (this.#disposed) throw new Error("the episode is over.");
    this.#root ??= mkdtemp(join(tmpdir(), "lyceum-tools-")).then((folder) => realpath(folder));
    return this.#root;
  }

  /**
   * Returns the kind of entry at a path. Throws if a part of the path is a link, or a file that is used as a folder.
   */
  async #kindOf(root: string, parts: readonly string[]): Promise<"file" | "folder" | "nothing"> {
    let place = root;
    for (const [index, part] of parts.entries()) {
      place = join(place, part);
      const found = await lstat(place).catch(() => undefined);
      if (found === undefined) return "nothing";
      const isLast = index === parts.length - 1;
      if (isLast && found.isFile() && found.nlink === 1) return "file";
      if (!found.isDirectory())
        throw new Error(`"${parts.slice(0, index + 1).join("/")}" is not a plain file or folder.`);
    }
    return "folder";
  }
}

/** Splits a path into its names. Throws if it is not an allowed relative path. */
function splitPath(path: string): readonly string[] {
  const parts = path.replace(/^\.\//, "").split("/");
  const isPlain = parts.every((part) => /^[\w-][\w.-]*$/.test(part) && part.length <= limits.nameCharacters);
  if (isPlain && parts.length <= limits.depth) return parts;
  throw new Error(
    `"${path.slice(0, 100)}" is not an allowed path. A path is relative and has at most ${limits.depth} names ` +
      "of letters, digits, _, - and . (not at the start), such as notes/data.csv.",
  );
}
