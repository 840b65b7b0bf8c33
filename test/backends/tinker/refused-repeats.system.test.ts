import { expect, it } from "vitest";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { exampleData, trainStep } from "../../../trainers/testing/model-subject.ts";
import { servedModel } from "./served-model.ts";

it("trains on a server that refuses a repeated sequence id, as TuFT does", async () => {
  await using served = await servedModel();
  const server = await served.serve();
  const seen = new Set<string>();
  let refused = 0;
  server.fault = {
    before: (route, _request, response, { model_id, seq_id }) => {
      const key = `${model_id} ${seq_id}`;
      if (!/^forward/.test(route)) return false;
      if (seen.size === seen.add(key).size) {
        refused += 1;
        response.writeHead(409, { "content-type": "application/json" }).end('{"detail":"Sequence conflict"}');
        return true;
      }
      return false;
    },
  };
  await using backend = await createTinkerBackend({ url: server.url, times: { delayMs: 1 } });
  const trainable = { type: "lora", lora: { rank: 4 } } as const;
  const model = await backend.openModel({ source: served.source, trainable });
  await trainStep(model, exampleData(1));
  expect(model.version).toBe(1);
  expect(refused).toBe(1);
});
