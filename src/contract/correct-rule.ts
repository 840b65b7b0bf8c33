/**
 * Which episodes count as correct: `stated`, those of which the environment says so; else those in which every agent's
 * total reward, or the named component of it, reaches `atLeast`.
 */
export type CorrectRule = { readonly stated: true } | { readonly component?: string; readonly atLeast: number };
