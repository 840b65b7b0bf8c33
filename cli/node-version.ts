const minimumMajor = 24;

/** Returns the message for a Node version that is too old. Returns undefined for a supported version. */
export function nodeVersionProblem(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= minimumMajor) return undefined;
  return [
    `error: Lyceum needs Node ${minimumMajor} or newer, and this is Node ${version}.`,
    `  Install it from https://nodejs.org, or into your project by npm install --save-dev node@${minimumMajor}; npx lyceum then uses it.`,
  ].join("\n");
}
