import { LyceumError } from "../../contract/errors/index.ts";

/**
 * A package that only some need, and who needs it installs it. Throws `config.invalid`, with the package to install,
 * where it is not there; what it throws itself passes through.
 */
export async function importOptional(
  name: string,
  options: { readonly message: string; readonly hint?: string },
): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(name)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (!isMissing(name, cause)) throw cause;
    const { message, hint = `Run npm install ${name}.` } = options;
    throw new LyceumError({ code: "config.invalid", message, hint, data: { package: name }, cause });
  }
}

/** Not there itself, rather than in need of something that is not: as Node says it, and as bundlers do. */
function isMissing(name: string, error: unknown): boolean {
  const { message } = error as Error;
  return /^(Cannot find package|Could not resolve) ["']/.test(message) && new RegExp(`["']${name}["']`).test(message);
}
