import type { z } from "zod";
import type { SampleRequest, Sampler } from "../../../src/contract/sampler.ts";
import type * as bodies from "../protocol/requests.ts";
import { type SampleResult, topTokensOf } from "../protocol/sample-result.ts";
import type { Completions } from "./completion-queue.ts";
import type { FrozenModel } from "./frozen-model.ts";
import type { FutureTable } from "./future-table.ts";
import { promptScoreRequest, scorePrompt } from "./prompt-scores.ts";
import type { RecordedSequences } from "./recorded-sequences.ts";
import { RequestError } from "./request-error.ts";
import { sampleRequests } from "./sample-requests.ts";
import type { Sent } from "./sent.ts";
import type {
  CreatedSamplingSession,
  JoinedSamplingSession,
  Promised,
  SamplerInfo,
  ServiceResult,
} from "./service-answers.ts";

/** The part of the service that sampling needs. */
interface Weights {
  readonly futures: FutureTable<ServiceResult>;
  readonly recorded: RecordedSequences;
  /** The name of the base model in answers. */
  readonly baseName: string;
  /** Marks a session as used. Throws `RequestError` 404 for one that has ended. */
  touch(sessionId: string): void;
  /** Throws `RequestError` 400 for a name that is not the base model's. */
  checkBase(name: string): void;
  base(): Promise<FrozenModel>;
  /** Returns the sampler of saved weights. Rejects with a `RequestError` 404 if there is none. */
  samplerOf(path: string): Promise<Sampler>;
}

interface SamplingSession {
  readonly sessionId: string;
  /** Undefined for the base model. */
  readonly path: string | undefined;
  /** The number of copies of its client that have joined. */
  copies: number;
}

/** The first request number of each copy of a client's sampler is a multiple of this. */
const samplerBlock = 1e9;

/** The sampling sessions of clients: each samples the base model or saved weights. */
export class SamplingSessions {
  readonly #weights: Weights;
  readonly #sessions = new Map<string, SamplingSession>();

  constructor(weights: Weights) {
    this.#weights = weights;
  }

  /** Creates a session. The same number returns the same session. Throws `RequestError` 409 if it has other weights. */
  async create({ body }: Sent<z.output<typeof bodies.samplingSessionBody>>): Promise<CreatedSamplingSession> {
    this.#weights.touch(body.session_id);
    const path = body.model_path ?? undefined;
    if (path === undefined) this.#weights.checkBase(body.base_model ?? "");
    else await this.#weights.samplerOf(path);
    const id = `${body.session_id}:sample:${body.sampling_session_seq_id}`;
    const earlier = this.#sessions.get(id);
    if (earlier === undefined) this.add(id, body.session_id, path);
    else if (earlier.path !== path) throw new RequestError(409, `Sampling session ${id} has other weights.`);
    return { type: "create_sampling_session", sampling_session_id: id };
  }

  /** Adds a sampling session. Throws `RequestError` 404 if its session has ended. */
  add(id: string, sessionId: string, path: string | undefined): void {
    this.#weights.touch(sessionId);
    this.#sessions.set(id, { sessionId, path, copies: 0 });
  }

  /**
   * Returns a number for a copy of the session's client, such as one in another process. Copies need different request
   * ids.
   */
  join({ body }: Sent<z.output<typeof bodies.joinSamplingSessionBody>>): JoinedSamplingSession {
    const session = this.#sessionOf(body.sampling_session_id);
    this.#weights.touch(session.sessionId);
    session.copies += 1;
    return { type: "join_sampling_session", client_counter: session.copies };
  }

  /** Throws `RequestError` 404 for a sampling session that does not exist. */
  check(id: string): void {
    this.#sessionOf(id);
  }

  info(id: string): SamplerInfo {
    const { path } = this.#sessionOf(id);
    return { sampler_id: id, base_model: this.#weights.baseName, model_path: path ?? null };
  }

  /** The sampling sessions of a session. */
  idsOf(sessionId: string): string[] {
    return [...this.#sessions].filter(([, session]) => session.sessionId === sessionId).map(([id]) => id);
  }

  /** Forgets the sampling sessions of a session, and aborts their requests. */
  end(sessionId: string): void {
    for (const id of this.idsOf(sessionId)) {
      this.#sessions.delete(id);
      this.#weights.futures.forget(id);
    }
  }

  async sample({ body, digest }: Sent<z.output<typeof bodies.sampleBody>>): Promise<Promised> {
    const { futures, recorded } = this.#weights;
    const id = body.sampling_session_id ?? undefined;
    const promptScore = promptScoreRequest(body);
    const session = id === undefined ? undefined : this.#sessionOf(id);
    if (session !== undefined) this.#weights.touch(session.sessionId);
    const path = session === undefined ? (body.model_path ?? undefined) : session.path;
    if (session === undefined && path === undefined) this.#weights.checkBase(body.base_model ?? "");
    const isRecorded = body.record_stability_info === true;
    if (isRecorded && session === undefined) {
      throw new RequestError(400, "record_stability_info needs a sampling session.");
    }
    if (path !== undefined) await this.#weights.samplerOf(path);
    // The session may have ended while the weights were read.
    if (id !== undefined) this.#sessionOf(id);
    const wanted = sampleRequests(body);
    const topK = body.topk_sample_logprobs;
    const key = body.seq_id ?? undefined;
    const once =
      id === undefined || key === undefined
        ? undefined
        : { owner: id, key, digest, queue: Math.floor(key / samplerBlock) };
    const idOf = (sample: number): string => `${request_id}:${sample}`;
    const request_id = futures.start(async (signal): Promise<SampleResult> => {
      const base = await this.#weights.base();
      const { stopTokenIds } = base.model.renderer;
      const requests = wanted.map((request): SampleRequest => ({ stopTokenIds, ...request }));
      // Inflight weights can be replaced after the request arrives, and again after its prompt is scored.
      const current = async (): Promise<Sampler> =>
        path === undefined ? base.sampler : await this.#weights.samplerOf(path);
      const scored = promptScore === undefined ? {} : await scorePrompt(await current(), promptScore, signal);
      const samples = await Array.fromAsync((await current()).sample(requests, { signal }));
      const sequences = samples
        .toSorted((a, b) => a.request - b.request)
        .map(({ ids, logprobs, finish, topLogprobs }) => {
          if (topK > 0 && topLogprobs === undefined) {
            throw new RequestError(400, "The backend does not report the most likely tokens of samples.");
          }
          return {
            tokens: Int32Array.from(ids),
            logprobs: Float32Array.from(logprobs),
            stopReason: finish,
            ...(topLogprobs === undefined ? {} : { topTokens: topTokensOf(topLogprobs, topK) }),
          };
        });
      if (isRecorded && this.#sessions.has(id!)) {
        for (const [i, sequence] of sequences.entries()) recorded.add(session!.sessionId, idOf(i), sequence);
      }
      return { sequences, ...scored };
    }, once);
    return { request_id, sample_sequence_ids: Array.from({ length: body.num_samples }, (_, i) => idOf(i)) };
  }

  /** Returns the requests of a sampling session that have ended. Waits for one, at most for `waitMs` milliseconds. */
  completions({ body }: Sent<z.output<typeof bodies.retrieveManyBody>>, waitMs: number): Promise<Completions> {
    const { sampling_session_id: owner, cloned_sampler_id: queue } = body.target;
    this.#weights.touch(this.#sessionOf(owner).sessionId);
    const { prev_cursor: cursor, retrieved_request_ids: received, timeout } = body;
    const wait = timeout === null || timeout === undefined ? waitMs : Math.min(waitMs, timeout * 1000);
    return this.#weights.futures.completions({ owner, queue, cursor, received, waitMs: wait });
  }

  #sessionOf(id: string): SamplingSession {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new RequestError(404, `Sampling session ${id} is unknown.`);
    return session;
  }
}
