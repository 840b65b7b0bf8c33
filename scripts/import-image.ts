import { spawn } from "node:child_process";
import { pipeline } from "node:stream/promises";

/** Creates a Docker image with a folder as its root. */
export async function importImage(root: string, image: string): Promise<void> {
  const tar = spawn("tar", ["-C", root, "--owner=0", "--group=0", "--numeric-owner", "-c", "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const docker = spawn("docker", ["import", "-", image], { stdio: ["pipe", "inherit", "inherit"] });
  const ended = new Promise<number | null>((done) => docker.once("close", done));
  await pipeline(tar.stdout, docker.stdin);
  if ((await ended) !== 0) throw new Error("docker import failed.");
}
