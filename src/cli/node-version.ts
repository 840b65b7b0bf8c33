const minimumMajor = 24;

/** What to tell a person whose Node is too old; undefined where it is not. */
export function nodeVersionProblem(version: string): string | undefined {
  if (Number.parseInt(version, 10) >= minimumMajor) return undefined;
  return [
    `error: Lyceum needs Node ${minimumMajor} or newer, and this is Node ${version}.`,
    `  Install it from https://nodejs.org, or into your project by npm install --save-dev node@${minimumMajor}; npx lyceum then uses it.`,
  ].join("\n");
}
