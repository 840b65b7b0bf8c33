/**
 * Defines which episodes are correct. With `stated`, the environment decides (`StepResult.correct`). Otherwise an
 * episode is correct if each agent's total reward, or the named component of it, is at least `atLeast`.
 */
export type CorrectRule = { readonly stated: true } | { readonly component?: string; readonly atLeast: number };
