import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Generates the TypeScript of the .proto files into a folder, by default the committed one. */
export function generateProtocols(folder?: string): void {
  const root = join(import.meta.dirname, "..");
  const bin = join(root, "node_modules/.bin");
  execFileSync(join(bin, "buf"), ["generate", ...(folder === undefined ? [] : ["--output", folder])], {
    cwd: join(root, "src/server/grpc/proto"),
    env: { ...process.env, PATH: `${bin}:${process.env.PATH ?? ""}` },
    stdio: "inherit",
  });
}

if (import.meta.main) generateProtocols();
