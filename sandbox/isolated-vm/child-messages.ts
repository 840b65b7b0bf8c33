import type { Job, WorkerResult } from "../pool/worker.ts";

/** The message to the child process: a job with a nonce, which the answer must contain. */
export interface JobMessage {
  readonly nonce: string;
  readonly job: Job;
}

/**
 * The messages from the child process: first that it is ready or why it never will be, then one answer per job. After
 * `failed`, which reports an error that the code did not cause, the child ends itself.
 */
export type ChildMessage =
  | { readonly kind: "ready"; readonly version: string }
  | { readonly kind: "unavailable"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "result"; readonly nonce: string; readonly result: WorkerResult; readonly reusable: boolean };
