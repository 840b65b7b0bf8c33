import type { Job, WorkerResult } from "../pool/worker.ts";

/** What the child process is sent: a job under a nonce that its answer must carry. */
export interface JobMessage {
  readonly nonce: string;
  readonly job: Job;
}

/**
 * What the child process sends: first that it is ready or why it never will be, then an answer to each job. After
 * `failed`, which tells of an error that is not the code's, it ends itself.
 */
export type ChildMessage =
  | { readonly kind: "ready"; readonly version: string }
  | { readonly kind: "unavailable"; readonly message: string }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "result"; readonly nonce: string; readonly result: WorkerResult; readonly reusable: boolean };
