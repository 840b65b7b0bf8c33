import { z } from "zod";

/**
 * Checks lists and objects of another program. The check ends at the first problem. zod's own `array` and `record`
 * collect a problem for each value, so that a body of millions of wrong values would take minutes and gigabytes.
 */

/** A list of integers. */
export const integers: z.ZodType<number[], number[]> = z.custom<number[]>(
  (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
  "expected a list of integers",
);

/** A list of finite numbers. */
export const numbers: z.ZodType<number[], number[]> = z.custom<number[]>(
  (value) => Array.isArray(value) && value.every(Number.isFinite),
  "expected a list of numbers",
);

/** A list of values of a schema. */
export function listOf<Item extends z.ZodType>(item: Item): z.ZodType<z.output<Item>[], z.input<Item>[]> {
  const list = z.custom<z.input<Item>[]>(Array.isArray, "expected a list");
  return list.transform((values, context) => {
    const read: z.output<Item>[] = [];
    for (const [index, value] of values.entries()) {
      const result = item.safeParse(value);
      if (!result.success) return firstProblem(context, index, result.error);
      read.push(result.data);
    }
    return read;
  }) as unknown as z.ZodType<z.output<Item>[], z.input<Item>[]>;
}

/** An object whose values have a schema. */
export function recordOf<Item extends z.ZodType>(
  item: Item,
): z.ZodType<Record<string, z.output<Item>>, Record<string, z.input<Item>>> {
  const record = z.custom<Record<string, z.input<Item>>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "expected an object",
  );
  return record.transform((values, context) => {
    const read: [string, z.output<Item>][] = [];
    for (const [key, value] of Object.entries(values)) {
      const result = item.safeParse(value);
      if (!result.success) return firstProblem(context, key, result.error);
      read.push([key, result.data]);
    }
    return Object.fromEntries(read);
  }) as unknown as z.ZodType<Record<string, z.output<Item>>, Record<string, z.input<Item>>>;
}

function firstProblem(context: z.RefinementCtx, at: string | number, { issues }: z.ZodError): never {
  const [issue] = issues;
  context.addIssue({ code: "custom", message: issue!.message, path: [at, ...issue!.path] });
  return z.NEVER;
}
