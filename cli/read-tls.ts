import { readFile } from "node:fs/promises";
import { LyceumError } from "../src/contract/errors/index.ts";

/**
 * Reads the certificate and the key of a server, in PEM. Returns undefined without them. Throws `config.invalid` for one
 * without the other, and `data.not-found` for a file that cannot be read.
 */
export async function readTls(files: {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}): Promise<{ readonly cert: string; readonly key: string } | undefined> {
  const { tlsCert, tlsKey } = files;
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: "TLS needs a certificate and its key.",
      hint: "Give both --tls-cert and --tls-key.",
    });
  }
  return { cert: await readPem(tlsCert), key: await readPem(tlsKey) };
}

async function readPem(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new LyceumError({
      code: "data.not-found",
      message: `${path} cannot be read: ${cause.message}.`,
      hint: "Give the path of a file in PEM.",
      data: { path },
      cause,
    });
  });
}
