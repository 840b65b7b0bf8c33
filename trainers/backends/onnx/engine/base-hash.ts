import { createHash } from "node:crypto";
import type { ParameterBlock } from "../models/parameter-block.ts";

/**
 * Only every 997th value of a parameter is hashed. Training changes all values of a matrix, and hashing all of them
 * takes seconds.
 */
const stride = 997;

/**
 * Returns a hash of base weights. An adapter stores it to recognize its base. The hash covers the name, the shape and a
 * sample of the values of every parameter. It does not depend on the order of the parameters, or on the precision of
 * the file if the values are the same.
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
