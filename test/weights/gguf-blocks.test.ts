import { expect, it } from "vitest";
import { blockTypes } from "../../trainers/model-folders/gguf/gguf-blocks.ts";
import vectors from "./gguf-blocks.json" with { type: "json" };

/** Random blocks with their values by Python's gguf 0.19. The interop suite compares many more. */
const cases = Object.entries(vectors);

it("knows the types of the vectors, and no others", () => {
  expect([...blockTypes.values()].map(({ name }) => name).toSorted()).toEqual(cases.map(([name]) => name).toSorted());
});

it.each(cases)("%s has the values of gguf", (name, { blocks, values }) => {
  const type = [...blockTypes.values()].find((known) => known.name === name)!;
  const bytes = Uint8Array.from(Buffer.from(blocks, "base64"));
  const expected = new Float32Array(Uint8Array.from(Buffer.from(values, "base64")).buffer);
  const found = new Float32Array((bytes.length / type.bytes) * type.values);
  type.decode(bytes, found);
  expect([...found]).toEqual([...expected]);
});
