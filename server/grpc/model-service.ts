import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { unknownNameError } from "../../src/contract/errors/index.ts";
import type { ActResult, Policy } from "../../src/contract/policy.ts";
import { checkBatch } from "./check-batch.ts";
import type { GenerateOutcomeSchema, GenerateRequest, ModelService } from "./generated/lyceum/v1/model_pb.ts";
import { toWireError } from "./wire/errors.ts";
import { fromWireGenerate, toWireGenerated } from "./wire/generation.ts";
import { invalidRequest } from "./wire/invalid-request.ts";

/** The number of characters in one piece of a streamed answer. */
const pieceLength = 256;

/** Implements `lyceum.v1.ModelService` on policies, by the names in requests. */
export function modelService(policies: Readonly<Record<string, Policy>>): ServiceImpl<typeof ModelService> {
  const names = Object.keys(policies);
  const policyOf = (model: string): Policy => {
    const name = model || names[0];
    if (name === undefined || !Object.hasOwn(policies, name)) {
      throw unknownNameError({ kind: "model", name: name ?? "", known: names });
    }
    return policies[name]!;
  };
  const act = async (request: GenerateRequest, signal: AbortSignal): Promise<ActResult> =>
    policyOf(request.modelId).act({ ...fromWireGenerate(request), signal });
  const outcomeOf = async (request: GenerateRequest, signal: AbortSignal): Promise<Outcome> => {
    try {
      return { result: { case: "response", value: toWireGenerated(await act(request, signal)) } };
    } catch (error) {
      return { result: { case: "error", value: toWireError(error) } };
    }
  };
  return {
    generate: async (request, { signal }) => toWireGenerated(await act(request, signal)),
    batchGenerate: async ({ requests }, { signal }) => {
      checkBatch(requests);
      return { outcomes: await Promise.all(requests.map((request) => outcomeOf(request, signal))) };
    },
    streamGenerate: async function* ({ request }, { signal }) {
      if (request === undefined) throw invalidRequest("The request is empty.", "Set request.");
      const result = await act(request, signal);
      for (const part of result.action.message.content) {
        if (part.type === "image") continue;
        for (const piece of pieces(part.text)) yield { event: { case: part.type, value: piece } };
      }
      yield { event: { case: "response", value: toWireGenerated(result) } };
    },
    listModels: () => ({
      models: Object.entries(policies).map(([modelId, { accepts }]) => ({ modelId, accepts: [...accepts] })),
    }),
  };
}

type Outcome = MessageInitShape<typeof GenerateOutcomeSchema>;

/** Returns the pieces of a text. A character of two code units stays whole. */
function* pieces(text: string): Generator<string> {
  const characters = [...text];
  for (let start = 0; start < characters.length; start += pieceLength) {
    yield characters.slice(start, start + pieceLength).join("");
  }
}
