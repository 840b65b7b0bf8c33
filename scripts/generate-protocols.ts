import { execFileSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** The folders of .proto files, from the repository's root. Each has its TypeScript in `../generated`. */
export const protocolFolders: readonly string[] = ["server/grpc/proto", "trainers/tinker/proto"];

/** Generates the TypeScript of a folder of .proto files into a folder, by default the committed one. */
export function generateProtocols(protocols: string, folder?: string): void {
  const bin = join(root, "node_modules/.bin");
  execFileSync(join(bin, "buf"), ["generate", ...(folder === undefined ? [] : ["--output", folder])], {
    cwd: join(root, protocols),
    env: { ...process.env, PATH: `${bin}:${process.env.PATH ?? ""}` },
    stdio: "inherit",
  });
}

if (import.meta.main) for (const protocols of protocolFolders) generateProtocols(protocols);
