/**
 * Messages of package managers and downloaders that cannot reach what they install. A refused connection is not
 * listed, because tests print it if the agent's own server does not run.
 */
const messages = [
  /temporary failure (?:resolving|in name resolution)/i,
  /could(?: not|n't) resolve (?:host|hostname)\b/i,
  // sudo says this of the container's own name.
  /(?<!sudo: )unable to resolve host/i,
  /name or service not known/i,
  /\bEAI_AGAIN\b|getaddrinfo ENOTFOUND|\bERR_PNPM_META_FETCH_FAIL\b/,
  /^npm (?:error|ERR!) code (?:ENOTFOUND|ETIMEDOUT|ECONNRESET|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH)\b/,
  /^wget: bad address/,
  // A server of the agent can time out as well, but its address is found and its port opens.
  /^curl: \(28\) (?:Resolving timed out|Connection timed out|Failed to connect)/,
  /^curl: \((?:7|35)\) .*(?::|port )443\b/,
  /temporary error \(try again later\)|\bDNS: transient error\b/,
  /^[\s│├╰─▶×]*(?:error:|Caused by:)?\s*(?:Failed to (?:fetch|download):? (?:`|https?:)|Request failed after \d+ retries)/,
  /\bMax retries exceeded with url\b/,
  /\bCondaHTTPError\b|^PackagesNotFoundError:/,
  /^Error: (?:Failed to download metadata for repo|Unable to find a match)/,
  /^ERROR: {2}Could not find a valid gem/,
  /\bdial tcp: (?:lookup \S+|i\/o timeout)/,
  /\bjava\.net\.UnknownHostException\b/,
  /\bdns error\b/i,
  /network is unreachable/i,
  /^E: (?:Unable to locate package|Failed to fetch|Unable to fetch some archives|Could not connect to|Package '.*' has no installation candidate)/,
  /^ERROR: (?:Could not find a version that satisfies|No matching distribution found)/,
  /^ERROR: unable to select packages/,
  /^error: failed to download from `https?:/,
  /^fatal: unable to access 'https?:/,
] as const;

/** A line of a test report, or about this machine itself: no installation prints it. */
const ofTests =
  /^\s*(?:E {2}|>|ok\b|not ok\b|assert|expected|(?:FAILED|PASSED|AssertionError)\b|[✓✗✔✘])|\blocalhost\b|\b127\.\d+\.\d+\.\d+\b|\.invalid\b/i;

/** Returns the line in which what tests printed says that something could not be installed, or undefined. */
export function installFailure(output: string): string | undefined {
  return output.split("\n").find((line) => !ofTests.test(line) && messages.some((message) => message.test(line)));
}
