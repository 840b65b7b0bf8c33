import { headName } from "../architecture/parameters.ts";
import { Graph } from "../graph/graph.ts";
import { matrixProduct } from "../graph/linear.ts";
import { decoderBody } from "../models/decoder.ts";
import { bindParameters } from "../models/graph-parameters.ts";
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
    const { plan, ...bound } = bindParameters(graph, weights);
    const parts = { config, ...bound };
    const { ids: input, positions, layout, maskOf } = sequenceInputs(graph, config);
    const hidden = decoderBody(parts, {
      ids: input,
      positions,
      attention: trainingAttention(config, { layout, maskOf }),
    });
    const head = parts.parameters.tensor(headName(config));
    graph.output("logits", matrixProduct(hidden, head, { transposeB: true }));
    return plan;
  });
  const batch = layOutSequences([ids]);
  const results = await compiled.session.run({
    ...parameterFeeds(compiled, weights),
    ...sequenceFeeds(batch, config),
    ...tables.feeds(batch.tokens),
  });
  return results.logits!;
}
