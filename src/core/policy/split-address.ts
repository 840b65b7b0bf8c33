/** Splits the address of a policy at its first `#`, such as `http://HOST/v1#MODEL`. */
export function splitAddress(address: string): readonly [before: string, after?: string] {
  const at = address.indexOf("#");
  if (at < 0 || at === address.length - 1) return [address.replace(/#$/, "")];
  return [address.slice(0, at), address.slice(at + 1)];
}
