import type { z } from "zod";

/** The keys of a zod object for a settings type. Used to compose a schema from several parts. */
export type SettingsShape<Settings> = { readonly [Key in keyof Settings]: z.ZodType<Settings[Key]> };
