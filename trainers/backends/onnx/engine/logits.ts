import { headName } from "../architecture/parameters.ts";
import { Graph } from "../graph/graph.ts";
import { matrixProduct } from "../graph/linear.ts";
import { decoderBody } from "../models/decoder.ts";
import { GraphParameters } from "../models/graph-parameters.ts";
import { sequenceInputs } from "../models/sequence-inputs.ts";
import { trainingAttention } from "../models/training-attention.ts";
import { layOutSequences } from "./batch.ts";
import type { PositionTables } from "./position-tables.ts";
import { sequenceFeeds } from "./sequence-runner.ts";
import type { SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, structureKey } from "./weights.ts";

/**
 * Computes the logits of every token of one sequence, with the shape (tokens, vocabulary). For comparisons, not for
 * training.
 */
export async function runLogits(options: {
  readonly weights: ModelWeights;
  readonly sessions: SessionCache;
  readonly tables: PositionTables;
  readonly ids: readonly number[];
}): Promise<Float32Array> {
  const { weights, sessions, tables, ids } = options;
  const { config } = weights;
  const compiled = await sessions.get(`logits|${structureKey(weights)}`, () => {
    const graph = new Graph();
    const base = new GraphParameters({ graph, block: weights.base, placement: "input" });
    const adapter =
      weights.adapter === undefined
        ? undefined
        : {
            parameters: new GraphParameters({ graph, block: weights.adapter.block, placement: "input" }),
            scale: weights.adapter.scale,
          };
    const parts = { config, parameters: base, adapter };
    const { ids: input, positions, layout, maskOf } = sequenceInputs(graph, config);
    const hidden = decoderBody(parts, {
      ids: input,
      positions,
      attention: trainingAttention(config, { layout, maskOf }),
    });
    const head = base.tensor(headName(config));
    graph.output("logits", matrixProduct(hidden, head, { transposeB: true }));
    return { graph, baseParameters: base.bound, adapterParameters: adapter?.parameters.bound ?? [] };
  });
  const batch = layOutSequences([ids]);
  const results = await compiled.session.run({
    ...parameterFeeds(compiled, weights),
    ...sequenceFeeds(batch, config),
    ...tables.feeds(batch.tokens),
  });
  return results.logits!;
}
