import type { StepResult } from "../protocol/answers.ts";
import type { PassResult } from "../protocol/pass-result.ts";
import type { SampleResult } from "../protocol/sample-result.ts";

/** The answer to a request whose result is computed later, with the ids that are known before. */
export interface Promised {
  readonly request_id: string;
  readonly model_id?: string;
  readonly sample_sequence_ids?: readonly string[];
}

/** The result of a request, which the client asks for by its id. */
export type ServiceResult =
  | PassResult
  | SampleResult
  | StepResult
  | { readonly type: "create_model" | "unload_model"; readonly model_id: string }
  | { readonly type: "load_weights"; readonly path: string; readonly model_id: string }
  | { readonly type: "save_weights"; readonly path: string }
  | { readonly type: "save_weights_for_sampler"; readonly path: string }
  | { readonly type: "save_weights_for_sampler"; readonly sampling_session_id: string }
  | { readonly type: "save_weights_external"; readonly path: string; readonly size_bytes: number };

/** The answer to `get_server_capabilities`. */
export interface ServedCapabilities {
  readonly supported_models: readonly {
    readonly model_name: string;
    readonly trainable: boolean;
    readonly sampleable: boolean;
  }[];
  readonly supported_loss_fns: readonly string[];
}

/** The answer to `create_session`. */
export interface CreatedSession {
  readonly type: "create_session";
  readonly session_id: string;
}

/** The models and sampling sessions of a session. */
export interface SessionInfo {
  readonly training_run_ids: readonly string[];
  readonly sampler_ids: readonly string[];
}

/** The answer to `get_info`. */
export interface ModelInfo {
  readonly type: "get_info";
  readonly model_id: string;
  readonly model_data: { readonly arch: string; readonly model_name: string; readonly tokenizer_id: string };
  readonly is_lora: boolean;
  readonly lora_rank: number;
  readonly model_name: string;
}

/** The answer to `create_sampling_session`. */
export interface CreatedSamplingSession {
  readonly type: "create_sampling_session";
  readonly sampling_session_id: string;
}

/** The answer to `join_sampling_session`. */
export interface JoinedSamplingSession {
  readonly type: "join_sampling_session";
  readonly client_counter: number;
}

/** The weights of a sampling session. A null path means those of the base model. */
export interface SamplerInfo {
  readonly sampler_id: string;
  readonly base_model: string;
  readonly model_path: string | null;
}
