import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { isLocalName, nearPath } from "../../../src/core/files/missing-path.ts";
import { onnxModelFolder } from "../../../src/core/policy/transformers-js/onnx-model-folder.ts";
import { loadTaskset } from "../../../src/core/taskset/load-taskset.ts";
import { findModel } from "../../../trainers/model-folders/model-folder.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
  await mkdir(join(folder, "runs/grpo"), { recursive: true });
  await writeFile(join(folder, "runs/rows.jsonl"), "");
});

const paths = (): string[] => [
  ...["./grpo", "../grpo", "/grpo/x", "~/grpo", "runs/", "a\\b", "a/b/c"],
  `${folder}/runs/grop`,
];
const fetch = () => Promise.reject(new Error("the hub was asked"));

describe("a path that does not exist", () => {
  it("is no hub id, and no command asks the hub for it", async () => {
    for (const path of paths()) {
      expect(isLocalName(path), path).toBe(true);
      const opening = [
        findModel(path, { fetch }),
        onnxModelFolder(path, { precision: "fp32", fetch }),
        loadTaskset({ source: path }, { fetch }),
      ];
      for (const result of await Promise.allSettled(opening)) {
        expect(result).toMatchObject({
          status: "rejected",
          reason: { code: expect.stringMatching(/missing|not-found/) },
        });
        expect(String((result as PromiseRejectedResult).reason)).not.toContain("the hub was asked");
      }
    }
  });

  it("is answered by the nearest name that exists", async () => {
    expect(nearPath(`${folder}/runs/grop`)).toContain(`Did you mean ${folder}/runs/grpo?`);
    expect(nearPath(`${folder}/rnus/grpo`)).toContain(`no folder ${folder}/rnus`);
    expect(nearPath(`${folder}/runs/else-entirely`)).toBe("");
    await expect(findModel(`${folder}/runs/grop`)).rejects.toMatchObject({
      code: "model.missing",
      hint: expect.stringContaining(`${folder}/runs/grpo`),
    });
  });
});

it("a hub id is one, unless a folder here has the owner's name", () => {
  for (const id of ["owner/name", "Qwen/Qwen3-0.6B", "gpt2"]) expect(isLocalName(id), id).toBe(false);
  // The tests run in the root of the project.
  expect(isLocalName("src/name")).toBe(true);
});
