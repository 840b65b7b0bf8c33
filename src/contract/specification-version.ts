import { LyceumError } from "./errors/index.ts";

/**
 * Returns a phrase that follows the name of a value: `has specificationVersion "v2" instead of "v1"`. Returns undefined
 * if its version is `v1`.
 */
export function versionProblem(value: object): string | undefined {
  const version = "specificationVersion" in value ? value.specificationVersion : undefined;
  if (version === "v1") return undefined;
  return `has specificationVersion ${JSON.stringify(version) ?? "undefined"} instead of "v1"`;
}

/**
 * Throws `config.invalid` unless `value` implements version `v1` of its interface. Call it on values from outside,
 * which another package or a program without types may have created. `what` names the value, such as `Policy "expert"`.
 */
export function checkVersion(what: string, value: object): void {
  const problem = versionProblem(value);
  if (problem === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${what} ${problem}.`,
    hint: 'Set specificationVersion to "v1" if it implements this interface. Otherwise install versions of the packages that fit each other.',
  });
}
