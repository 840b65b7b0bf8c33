import { LyceumError } from "../../src/contract/errors/index.ts";
import { withoutUrlSecrets } from "../../src/core/text/secrets.ts";

/** The parts of a remote environment's address. */
export interface RemoteAddress {
  readonly protocol: "openenv" | "grpc";
  /** The address without secrets, for messages. */
  readonly shown: string;
  /** The start of all requests, as `http:` or `https:`, without a slash at the end. */
  readonly base: string;
  /** The name of the environment, if the address has one. The server's first environment by default. */
  readonly environment?: string;
}

const schemes: Readonly<Record<string, { protocol: RemoteAddress["protocol"]; base: string }>> = {
  "http:": { protocol: "openenv", base: "http:" },
  "https:": { protocol: "openenv", base: "https:" },
  "grpc:": { protocol: "grpc", base: "http:" },
  "grpcs:": { protocol: "grpc", base: "https:" },
};

/** True if a text is the address of a remote environment: `http:`, `https:`, `grpc:` or `grpcs:`. */
export function isRemoteAddress(text: string): boolean {
  return Object.hasOwn(schemes, /^([a-z][a-z\d+.-]*:)\/\//i.exec(text)?.[1]?.toLowerCase() ?? "");
}

/**
 * Reads an address: `http(s)://HOST[:PORT][/NAME]` for OpenEnv, `grpc(s)://HOST:PORT[/NAME]` for gRPC. Throws
 * `config.invalid` for others, and for an address with a password.
 */
export function parseRemoteAddress(address: string): RemoteAddress {
  const shown = withoutUrlSecrets(address);
  const fail = (problem: string, hint: string): never => {
    throw new LyceumError({ code: "config.invalid", message: `The address ${shown} ${problem}.`, hint });
  };
  if (!isRemoteAddress(address) || !URL.canParse(address)) {
    return fail("names no server", "Write http://HOST:PORT, https://HOST, grpc://HOST:PORT or grpcs://HOST:PORT.");
  }
  const { protocol: scheme, host, pathname, username, password, search, hash } = new URL(address);
  if (username !== "" || password !== "") {
    fail("contains a password", "Set the token in LYCEUM_SERVER_TOKEN, or in a variable that tokenVariable names.");
  }
  if (search !== "" || hash !== "") fail("has a query", "An address ends with its path.");
  const { protocol, base } = schemes[scheme]!;
  const path = pathname.replace(/\/+$/, "");
  if (protocol === "openenv") return { protocol, shown, base: `${base}//${host}${path}` };
  const environment = decodeURIComponent(path.slice(1));
  if (environment.includes("/")) fail("has a path with several parts", "Write grpc://HOST:PORT/ENVIRONMENT.");
  return { protocol, shown, base: `${base}//${host}`, ...(environment === "" ? {} : { environment }) };
}
