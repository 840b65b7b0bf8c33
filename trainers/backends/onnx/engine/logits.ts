import { headName } from "../../../model-folders/architecture/parameters.ts";
import { gatherRows } from "../graph/gather.ts";
import { Graph } from "../graph/graph.ts";
import { weightProduct } from "../graph/quantized-weight.ts";
import { decoderBody } from "../models/decoder.ts";
import { bindParameters } from "../models/graph-parameters.ts";
import { sequenceInputs } from "../models/sequence-inputs.ts";
import { trainingAttention } from "../models/training-attention.ts";
import { layOutSequences } from "./batch.ts";
import type { PositionTables } from "./position-tables.ts";
import { sequenceFeeds } from "./sequence-feeds.ts";
import type { SessionCache } from "./session-cache.ts";
import { type ModelWeights, parameterFeeds, structureKey } from "./weights.ts";

/**
 * Computes the logits after tokens of one sequence, with the shape (tokens, vocabulary). For comparisons and scores, not
 * for training.
 */
export async function runLogits(options: {
  readonly weights: ModelWeights;
  readonly sessions: SessionCache;
  readonly tables: PositionTables;
  readonly ids: readonly number[];
  /** The places of these tokens. All by default. */
  readonly rows?: Int32Array;
}): Promise<Float32Array> {
  const { weights, sessions, tables, ids, rows = Int32Array.from(ids.keys()) } = options;
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
    const read = gatherRows(hidden, graph.input("rows", "int32", ["rows"]));
    const head = parts.parameters.weight(headName(config));
    graph.output("logits", weightProduct(read, head));
    return plan;
  });
  const batch = layOutSequences([ids]);
  const results = await compiled.session.run({
    ...parameterFeeds(compiled, weights),
    ...sequenceFeeds(batch, config),
    ...tables.feeds(batch.tokens),
    rows: { data: rows, shape: [rows.length] },
  });
  return results.logits!;
}
