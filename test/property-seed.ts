/** Where LYCEUM_PROPERTY_SEED is set, properties are tried on the same values in every run; else on new ones. */
const seed = process.env.LYCEUM_PROPERTY_SEED;
if (seed !== undefined) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed: Number(seed) });
}
