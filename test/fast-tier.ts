import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import workerThreads from "node:worker_threads";
import { afterAll, afterEach } from "vitest";

/**
 * The set-up file of the fast tier (`npm test`): a test that starts a process, a thread, a server, a connection or a
 * native engine fails, so the tier stays fast by itself. Sandboxes and ONNX Runtime are such processes or engines.
 */
const refused = new Set<string>();

function refuse(started: string): never {
  refused.add(started);
  throw refusal(started);
}

function refusal(started: string): Error {
  return new Error(
    `A test of the fast tier starts ${started}. Rename its file to NAME.system.test.ts, or test the function that decides without it.`,
  );
}

/** The code under test may have caught the error. */
function failIfRefused(): void {
  const [first] = refused;
  refused.clear();
  if (first !== undefined) throw refusal(first);
}

for (const name of ["exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"] as const) {
  childProcess[name] = (() => refuse("a process")) as never;
}
workerThreads.Worker = class {
  constructor() {
    refuse("a thread");
  }
} as never;
net.Server.prototype.listen = () => refuse("a server");
net.Socket.prototype.connect = () => refuse("a connection");
// Native modules: ONNX Runtime and isolated-vm.
process.dlopen = (_, path) => refuse(`a native engine (${path})`);
syncBuiltinESMExports();

afterEach(failIfRefused);
afterAll(failIfRefused);
