/**
 * Returns the name of the environment of a mixture that a task belongs to: its task id begins with the name and a
 * slash. The longest name wins. Returns undefined if none fits.
 */
export function environmentName(taskId: string, names: readonly string[]): string | undefined {
  return names.filter((name) => taskId.startsWith(`${name}/`)).sort((a, b) => b.length - a.length)[0];
}
