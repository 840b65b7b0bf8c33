/**
 * Messages of package managers and downloaders that cannot reach what they install. A refused connection is not
 * listed, because tests print it if the agent's own server does not run.
 */
const messages = [
  /temporary failure (?:resolving|in name resolution)/i,
  /could not resolve (?:host|hostname)\b/i,
  /unable to resolve host/i,
  /name or service not known/i,
  /\bEAI_AGAIN\b|getaddrinfo ENOTFOUND/,
  /^npm (?:error|ERR!) code (?:ENOTFOUND|ETIMEDOUT|ECONNRESET|ECONNREFUSED)\b/m,
  /^wget: bad address/m,
  // A server of the agent can time out as well, but its address is found and its port opens.
  /^curl: \(28\) (?:Resolving timed out|Connection timed out|Failed to connect)/m,
  /^curl: \(35\) .*:443\b/m,
  /couldn't resolve host/i,
  /temporary error \(try again later\)/,
  /^\s*(?:×|error:|Caused by:) (?:Failed to (?:fetch|download)|Request failed after \d+ retries)/m,
  /\bCondaHTTPError\b|^PackagesNotFoundError:/m,
  /^Error: (?:Failed to download metadata for repo|Unable to find a match)/m,
  /^ERROR: {2}Could not find a valid gem/m,
  /\bdial tcp: lookup \S+/,
  /\bdns error\b/i,
  /network is unreachable/i,
  /^E: (?:Unable to locate package|Failed to fetch|Unable to fetch some archives|Package '.*' has no installation candidate)/m,
  /^ERROR: (?:Could not find a version that satisfies|No matching distribution found)/m,
  /^ERROR: unable to select packages/m,
  /^fatal: unable to access/m,
] as const;

/** Returns the line in which what tests printed says that something could not be installed, or undefined. */
export function installFailure(output: string): string | undefined {
  return output.split("\n").find((line) => messages.some((message) => message.test(line)));
}
