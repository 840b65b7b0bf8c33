/** If LYCEUM_PROPERTY_SEED is set, property tests use the same values in every run. Otherwise they use new ones. */
const seed = process.env.LYCEUM_PROPERTY_SEED;
if (seed !== undefined) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({ seed: Number(seed) });
}
