import { createHash } from "node:crypto";
import type { ParameterBlock } from "../models/parameter-block.ts";

/** Every so many values of a parameter count: training changes all of a matrix, and reading all of it takes seconds. */
const stride = 997;

/**
 * A hash of base weights, by which an adapter knows its own: of the name, the shape and a sample of the values of every
 * parameter. It does not depend on the order of the parameters or on the precision that a file keeps them in, as long
 * as the values are the same.
 */
export function baseHash(base: ParameterBlock): string {
  const hash = createHash("sha256");
  for (const { name, shape } of base.specs.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const values = base.view(name);
    const sample = Float32Array.from({ length: Math.ceil(values.length / stride) }, (_, i) => values[stride * i]!);
    hash.update(`${name}[${shape.join()}]`).update(sample);
  }
  return `sha256:${hash.digest("hex")}`;
}
