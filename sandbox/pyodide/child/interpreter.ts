import { readFileSync } from "node:fs";
import { gateBridge } from "./bridge.ts";
import { Capture } from "./capture.ts";
import { addJudgeDevice, addSleepDevice, type EmscriptenFileSystem, guardFileSystem } from "./file-system.ts";
import { HeapImage, writeDifferences } from "./heap-image.ts";
import { fillRandom, seedRandomBytes } from "./random-bytes.ts";

/** The options with which a child starts Python. */
export interface Boot {
  /** Pyodide's folder, with a trailing slash. */
  readonly pyodide: string;
  /** The path of the snapshot to start from. */
  readonly snapshot?: string;
  /**
   * Python files by path within the harness package. If they are given, Python starts without a snapshot to make one.
   */
  readonly harness?: Readonly<Record<string, string>>;
}

/** The limits of a job in one interpreter. */
export interface InterpreterLimits {
  readonly cpuMs: number;
  readonly memoryMb: number;
  readonly outputBytes: number;
  readonly openFiles: number;
  readonly temporaryMb: number;
}

/** How a call into Python ended if it did not return normally. */
export type Ending =
  | { readonly kind: "timeout_cpu" }
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "crashed"; readonly message: string };

type PythonFunction = (...args: (string | number)[]) => string | boolean | undefined;

interface PyodideModule {
  readonly HEAPU8: Uint8Array;
  readonly stackSave: () => number;
  readonly stackRestore: (pointer: number) => void;
}

interface Pyodide {
  readonly FS: EmscriptenFileSystem;
  readonly _module: PyodideModule;
  readonly _api: { fatal_error: (error: unknown) => void };
  runPython(code: string): unknown;
  makeMemorySnapshot(): Uint8Array;
  setInterruptBuffer(buffer: unknown): void;
  setStdin(options: object): void;
  setStdout(options: object): void;
  setStderr(options: object): void;
}

const functionNames = ["start", "check", "call", "program", "flush", "serve", "answer", "open_judge", "judge"] as const;
const package_ = "_lyceum";

// Captured before Python starts, because later code may replace it.
const threadCpuUsage = process.threadCpuUsage.bind(process);

/** A Python interpreter whose whole memory is restored to the same state between jobs. */
export class Interpreter {
  readonly stdout: Capture = new Capture();
  readonly stderr: Capture = new Capture();
  readonly #python: Pyodide;
  readonly #functions: Record<(typeof functionNames)[number], PythonFunction>;
  readonly #files: ReturnType<typeof guardFileSystem>;
  readonly #image: HeapImage;
  readonly #stack: number;
  readonly #clock: CpuClock = new CpuClock();
  #stdin: Uint8Array = new Uint8Array();
  #ask: ((question: string) => string | undefined) | undefined;

  /** Starts Python. */
  static async start(boot: Boot): Promise<Interpreter> {
    limitMemory(512);
    const closeBridge = gateBridge();
    const interpreter = new Interpreter(await load(boot));
    closeBridge();
    return interpreter;
  }

  private constructor(python: Pyodide) {
    this.#python = python;
    // Pyodide's own handler prints by globals that we have removed.
    python._api.fatal_error = (error) => {
      throw error;
    };
    python.setStdin({ isatty: false, read: (buffer: Uint8Array) => this.#read(buffer) });
    python.setStdout({ isatty: false, write: (bytes: Uint8Array) => this.stdout.write(bytes) });
    python.setStderr({ isatty: false, write: (bytes: Uint8Array) => this.stderr.write(bytes) });
    python.setInterruptBuffer(this.#clock);
    const functions = functionNames.map((name) => [name, python.runPython(`${package_}.runner.${name}`)]);
    this.#functions = Object.fromEntries(functions);
    addJudgeDevice(python.FS, (question) => this.#ask?.(question));
    addSleepDevice(python.FS);
    this.#files = guardFileSystem(python.FS);
    python.runPython(`${package_}.runner.close()`);
    python.runPython(`del ${package_}`);
    this.#image = new HeapImage(python._module.HEAPU8);
    this.#stack = python._module.stackSave();
  }

  /** The current size of Python's memory in bytes. It never shrinks. */
  get heapBytes(): number {
    return this.#python._module.HEAPU8.length;
  }

  get cpuMs(): number {
    return this.#clock.usedMs;
  }

  /** True if the memory limit was reached since the job began. */
  get outOfMemory(): boolean {
    return memory.refused;
  }

  /** Sets the limits and files of the next job. */
  prepare(options: {
    readonly files: Readonly<Record<string, string>>;
    readonly stdin: string;
    readonly limits: InterpreterLimits;
    readonly seed: number;
  }): void {
    const { files, limits } = options;
    seedRandomBytes(options.seed);
    limitMemory(limits.memoryMb);
    this.stdout.reset(limits.outputBytes);
    this.stderr.reset(limits.outputBytes);
    this.#stdin = new TextEncoder().encode(options.stdin);
    this.#files.limit({ bytes: 64 * 2 ** 20, openFiles: 64 });
    const { FS: fs } = this.#python;
    for (const [path, text] of Object.entries(files)) {
      const whole = `/work/${path}`;
      if (path.includes("/")) fs.mkdirTree(whole.slice(0, whole.lastIndexOf("/")));
      fs.writeFile(whole, text);
    }
    this.#files.limit({ bytes: limits.temporaryMb * 2 ** 20, openFiles: limits.openFiles });
    this.#clock.start(limits.cpuMs);
  }

  /** Sets the function that answers the questions of a judge in this interpreter. Undefined removes it. */
  answerWith(ask: ((question: string) => string | undefined) | undefined): void {
    this.#ask = ask;
  }

  /** Calls a function of runner.py. */
  call(name: (typeof functionNames)[number], ...args: (string | number)[]): string | boolean | undefined | Ending {
    try {
      const value = this.#functions[name](...args);
      return this.#clock.fired ? { kind: "timeout_cpu" } : value;
    } catch (error) {
      if (this.#clock.fired) return { kind: "timeout_cpu" };
      return ending(error);
    }
  }

  /** Restores everything to its state before the job. */
  rewind(): void {
    this.#clock.stop();
    this.#ask = undefined;
    const { HEAPU8: heap, stackRestore } = this.#python._module;
    this.#image.restore(heap);
    stackRestore(this.#stack);
    this.#files.reset();
  }

  #read(buffer: Uint8Array): number {
    const part = this.#stdin.subarray(0, buffer.length);
    buffer.set(part);
    this.#stdin = this.#stdin.subarray(part.length);
    return part.length;
  }
}

/** Creates the snapshot that {@link Interpreter.start} starts from. */
export async function makeSnapshot(boot: Boot): Promise<Uint8Array> {
  limitMemory(512);
  const python = await load(boot);
  importHarness(python, boot.harness ?? {});
  return python.makeMemorySnapshot();
}

async function load({ pyodide, snapshot, harness }: Boot): Promise<Pyodide> {
  const { loadPyodide } = (await import(`file://${pyodide}pyodide.mjs`)) as {
    loadPyodide: (options: object) => Promise<Pyodide>;
  };
  fillRandom(new Uint8Array(1));
  const options = {
    indexURL: pyodide,
    jsglobals: Object.create(null),
    env: { HOME: "/work" },
    stdin: () => null,
    stdout: () => undefined,
    stderr: () => undefined,
  };
  if (snapshot === undefined) return loadPyodide({ ...options, _makeSnapshot: harness !== undefined });
  // Pyodide copies the snapshot into its memory.
  Int8Array.prototype.set = writeDifferences;
  try {
    return await loadPyodide({ ...options, _loadSnapshot: readFileSync(snapshot) });
  } finally {
    Reflect.deleteProperty(Int8Array.prototype, "set");
  }
}

/** Imports the harness package from its files and then removes the files. */
function importHarness(python: Pyodide, files: Readonly<Record<string, string>>): void {
  python.FS.mkdirTree(`/harness/${package_}`);
  for (const [name, text] of Object.entries(files)) python.FS.writeFile(`/harness/${package_}/${name}`, text);
  python.runPython(
    [
      "import sys, shutil",
      "sys.dont_write_bytecode = True",
      'sys.path.insert(0, "/harness")',
      `import ${package_}.runner`,
      'sys.path.remove("/harness")',
      'shutil.rmtree("/harness")',
      "del sys, shutil",
    ].join("\n"),
  );
}

/**
 * The interrupt buffer that Python reads. It signals an interrupt when the thread has used its time, and repeats it
 * until the code stops.
 */
class CpuClock {
  #deadline = Number.POSITIVE_INFINITY;
  #start = 0;
  #skipped = 0;
  fired = false;

  start(ms: number): void {
    this.fired = false;
    this.#start = cpuTime();
    this.#deadline = this.#start + ms;
  }

  stop(): void {
    this.#deadline = Number.POSITIVE_INFINITY;
  }

  get usedMs(): number {
    return cpuTime() - this.#start;
  }

  /** Read every few bytecodes. The clock itself is read less often. */
  get 0(): number {
    if (++this.#skipped % 16 !== 0 || cpuTime() < this.#deadline) return 0;
    this.fired = true;
    return 2;
  }

  set 0(_: number) {}
}

function cpuTime(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1_000;
}

/** Part of WebAssembly, which Node has and its types lack. */
declare const WebAssembly: {
  readonly Memory: { readonly prototype: { grow(this: { readonly buffer: ArrayBuffer }, delta: number): number } };
};

const memory = { pages: 0, refused: false };
const grow = WebAssembly.Memory.prototype.grow;
WebAssembly.Memory.prototype.grow = function (delta: number): number {
  if (this.buffer.byteLength / 65_536 + delta > memory.pages) {
    memory.refused = true;
    throw new RangeError("The memory limit is reached.");
  }
  return grow.call(this, delta);
};

function limitMemory(megabytes: number): void {
  memory.pages = megabytes * 16;
  memory.refused = false;
}

function ending(error: unknown): Ending {
  const { name, status, message } = error as { name?: string; status?: number; message?: string };
  if (name === "ExitStatus" || name === "Exit") return { kind: "exited", code: status ?? 0 };
  return { kind: "crashed", message: String(message ?? name ?? "unknown").slice(0, 2_000) };
}
