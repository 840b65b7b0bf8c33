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
  /\bdial tcp: lookup \S+/,
  /\bdns error\b/i,
  /network is unreachable/i,
  /^E: (?:Unable to locate package|Failed to fetch|Unable to fetch some archives|Package '.*' has no installation candidate)/m,
  /^ERROR: (?:Could not find a version that satisfies|No matching distribution found)/m,
  /^ERROR: unable to select packages/m,
  /^error: Failed to (?:fetch|download)/m,
  /^fatal: unable to access/m,
] as const;

/** Returns the line in which what tests printed says that something could not be installed, or undefined. */
export function installFailure(output: string): string | undefined {
  return output.split("\n").find((line) => messages.some((message) => message.test(line)));
}
