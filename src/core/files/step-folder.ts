/** The folder of a training's evaluations in its run folder. Each has a folder of its step's name. */
export const evaluationsFolder = "evaluations";

const pattern = /^step-(\d{6,})$/;

/** Returns the name of the folder of a step's checkpoint or evaluation, such as `step-000010`. */
export function stepFolder(step: number): string {
  return `step-${String(step).padStart(6, "0")}`;
}

/** Returns the step of a folder's name. Returns undefined for other names. */
export function stepOfFolder(name: string): number | undefined {
  const [, step] = pattern.exec(name) ?? [];
  return step === undefined ? undefined : Number(step);
}
