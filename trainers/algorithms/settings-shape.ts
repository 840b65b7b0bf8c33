import type { z } from "zod";

/** Settings as the keys of a zod object, for schemas that are put together of several. */
export type SettingsShape<Settings> = { readonly [Key in keyof Settings]: z.ZodType<Settings[Key]> };
