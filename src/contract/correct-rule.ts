/**
 * Defines which episodes are correct. With `stated`, the environment decides (`StepResult.correct`). With `atLeast`, an
 * episode is correct if each agent's total reward, or the named component of it, is at least `atLeast`. With
 * `environments`, each environment of a mixture has its own rule, by its name there. Null means no rule.
 */
export type CorrectRule =
  | { readonly stated: true }
  | { readonly component?: string; readonly atLeast: number }
  | { readonly environments: Readonly<Record<string, CorrectRule | null>> };
