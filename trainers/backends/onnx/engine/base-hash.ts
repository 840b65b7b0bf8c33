import { createHash } from "node:crypto";
import type { BaseBlock } from "../models/graph-parameters.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import { sampledValues } from "../models/sampled-values.ts";

/**
 * Returns a hash of base weights. An adapter stores it to recognize its base. The hash covers the name, the shape and a
 * sample of the values of every parameter. It does not depend on the order of the parameters, or on the precision of
 * the file if the values are the same. That of a quantized base is that of the weights that it was made from, because an
 * adapter fits both.
 */
export function baseHash(base: BaseBlock): string {
  const hash = createHash("sha256");
  for (const { name, shape } of base.specs.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const sample = base instanceof ParameterBlock ? sampledValues(base.view(name)) : base.sample(name);
    hash.update(`${name}[${shape.join()}]`).update(sample);
  }
  return `sha256:${hash.digest("hex")}`;
}
