/*
 * Python's files are JavaScript objects, which the restored heap image does not cover. Therefore the size of a job's
 * files is limited while it runs, and the files are removed afterwards. Everything except two folders is read-only.
 */

/** The folders that a job may write to. It starts in the first. */
const writableFolders = ["/work", "/tmp"] as const;

const EMFILE = 33;
const ENOSPC = 51;
const EROFS = 69;
const maxFiles = 5_000;

interface Node {
  mode: number;
  contents: Record<string, Node> & Uint8Array;
  writable?: boolean;
}

/** An open file. Its position and flags are shared with its copies. */
interface Stream {
  readonly shared: object;
}

type Operation = (...args: never[]) => unknown;

/** The part of Emscripten's file system that is used here. */
export interface EmscriptenFileSystem {
  readonly filesystems: {
    readonly MEMFS: {
      ops_table: Record<"dir" | "file" | "link" | "chrdev", Record<"node" | "stream", Record<string, Operation>>>;
      expandFileStorage: (node: Node, capacity: number) => void;
    };
  };
  readonly ErrnoError: new (code: number) => Error;
  streams: (Stream | null | undefined)[];
  currentPath: string;
  mkdirTree(path: string): void;
  chdir(path: string): void;
  writeFile(path: string, data: string): void;
  lookupPath(path: string): { readonly node: Node };
  isDir(mode: number): boolean;
  destroyNode(node: Node): void;
  nextfd: () => number;
  makedev(major: number, minor: number): number;
  registerDevice(device: number, operations: object): void;
  mkdev(path: string, mode: number, device: number): void;
}

/**
 * Creates the device /dev/judge. A line that is written to it is a question. The next line that is read is the answer.
 */
export function addJudgeDevice(fs: EmscriptenFileSystem, ask: (question: string) => string | undefined): void {
  const device = fs.makedev(64, 0);
  const noDevice = 60;
  let question = "";
  let answer: Buffer = Buffer.alloc(0);
  fs.registerDevice(device, {
    open: () => {
      question = "";
      answer = Buffer.alloc(0);
    },
    close: () => undefined,
    write: (_: unknown, bytes: Uint8Array, offset: number, length: number) => {
      question += Buffer.from(bytes.subarray(offset, offset + length)).toString("latin1");
      if (!question.endsWith("\n")) return length;
      const text = ask(question.slice(0, -1));
      question = "";
      if (text === undefined) throw new fs.ErrnoError(noDevice);
      answer = Buffer.from(`${text}\n`, "latin1");
      return length;
    },
    read: (_: unknown, bytes: Uint8Array, offset: number, length: number) => {
      const part = answer.subarray(0, length);
      bytes.set(part, offset);
      answer = answer.subarray(part.length);
      return part.length;
    },
  });
  fs.mkdev("/dev/judge", 0o666, device);
}

/** Creates a device that sleeps for the number of seconds written to it. WebAssembly has no other way to wait. */
export function addSleepDevice(fs: EmscriptenFileSystem): void {
  const device = fs.makedev(65, 0);
  const cell = new Int32Array(new SharedArrayBuffer(4));
  fs.registerDevice(device, {
    open: () => undefined,
    close: () => undefined,
    write: (_: unknown, bytes: Uint8Array, offset: number, length: number) => {
      const seconds = Number(Buffer.from(bytes.subarray(offset, offset + length)).toString("latin1"));
      Atomics.wait(cell, 0, 0, 1000 * seconds);
      return length;
    },
  });
  fs.mkdev("/dev/sleep", 0o666, device);
}

/** Guards a file system. Returns functions that limit a job and that remove its traces. */
export function guardFileSystem(fs: EmscriptenFileSystem): {
  readonly limit: (limits: { readonly bytes: number; readonly openFiles: number }) => void;
  readonly reset: () => void;
} {
  for (const folder of writableFolders) fs.mkdirTree(folder);
  fs.chdir(writableFolders[0]);
  const roots = writableFolders.map((folder) => fs.lookupPath(folder).node);
  for (const root of roots) root.writable = true;
  const modes = roots.map(({ mode }) => mode);
  const streams = fs.streams.map(keepStream);
  let room = 0;
  let files = 0;
  let touched = false;

  const fail = (code: number): never => {
    throw new fs.ErrnoError(code);
  };
  const enter = (node: Node): void => {
    if (node.writable !== true) fail(EROFS);
    touched = true;
  };
  const memory = fs.filesystems.MEMFS;
  const { dir, file, link, chrdev } = memory.ops_table;
  const guard = (operations: Record<string, Operation>, name: string, before: (...args: never[]) => void): void => {
    const operation = operations[name];
    if (operation === undefined) return;
    operations[name] = (...args) => {
      before(...args);
      return operation(...args);
    };
  };
  for (const name of ["mknod", "symlink"]) {
    const operation = dir.node[name]!;
    dir.node[name] = (...args) => {
      enter(args[0] as unknown as Node);
      if (++files > maxFiles) fail(ENOSPC);
      const node = operation(...args) as Node;
      node.writable = true;
      return node;
    };
  }
  for (const name of ["unlink", "rmdir"]) guard(dir.node, name, (parent: Node) => enter(parent));
  guard(dir.node, "rename", (node: Node, folder: Node) => {
    enter(node);
    enter(folder);
    if (roots.includes(node)) fail(EROFS);
  });
  for (const { node } of [dir, file, link, chrdev]) guard(node, "setattr", (target: Node) => enter(target));
  for (const name of ["write", "msync", "allocate"]) {
    guard(file.stream, name, (stream: { node: Node }) => enter(stream.node));
  }
  const setSize = file.node.setattr!;
  file.node.setattr = (...args) => {
    const [node, attributes] = args as unknown as [Node, { size?: number }];
    const grown = (attributes.size ?? 0) - node.contents.length;
    if (grown > room) fail(ENOSPC);
    if (grown > 0) room -= grown;
    return setSize(...args);
  };
  const expand = memory.expandFileStorage;
  memory.expandFileStorage = (node, capacity) => {
    const grown = capacity - node.contents.length;
    if (grown > room) fail(ENOSPC);
    expand(node, capacity);
    if (grown > 0) room -= grown;
  };
  const write = file.stream.write!;
  file.stream.write = (...args) => {
    const [{ node }, , , length, position] = args as unknown as [{ node: Node }, unknown, unknown, number, number];
    // The first write makes a copy and does not grow the old storage.
    if (node.contents.length === 0 && position === 0) {
      if (length > room) fail(ENOSPC);
      room -= length;
    }
    return write(...args);
  };

  let maxStreams = Number.POSITIVE_INFINITY;
  const next = fs.nextfd;
  fs.nextfd = () => {
    let open = 0;
    for (const stream of fs.streams) if (stream !== undefined && stream !== null) open++;
    if (open >= maxStreams) fail(EMFILE);
    return next();
  };

  const wipe = (folder: Node): void => {
    const pending = [folder];
    for (let parent = pending.pop(); parent !== undefined; parent = pending.pop()) {
      for (const child of Object.values(parent.contents as Record<string, Node>)) {
        if (fs.isDir(child.mode)) pending.push(child);
        fs.destroyNode(child);
      }
      parent.contents = {} as Node["contents"];
    }
  };

  return {
    limit: ({ bytes, openFiles }) => {
      room = bytes;
      files = 0;
      maxStreams = openFiles;
    },
    reset: () => {
      fs.streams.length = 0;
      fs.streams.push(...streams.map((restore) => restore()));
      fs.currentPath = writableFolders[0];
      maxStreams = Number.POSITIVE_INFINITY;
      if (!touched) return;
      for (const [index, root] of roots.entries()) {
        wipe(root);
        root.mode = modes[index]!;
      }
      touched = false;
    },
  };
}

/** Records the state of a stream. The returned function restores that state, even if the stream was closed or moved. */
function keepStream(stream: Stream | null | undefined): () => Stream | null | undefined {
  if (stream === null || stream === undefined) return () => stream;
  const fields = { ...stream };
  const shared = { ...stream.shared };
  return () => Object.assign(stream, fields, { shared: Object.assign(fields.shared, shared) });
}
