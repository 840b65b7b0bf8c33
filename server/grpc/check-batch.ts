import { invalidRequest } from "./wire/invalid-request.ts";

/** The maximum number of requests of one batch: a batch for each of the sessions that large servers have. */
const maxRequests = 4096;

/** Throws `server.invalid-request` for a batch with too many requests. */
export function checkBatch(requests: readonly unknown[]): void {
  if (requests.length <= maxRequests) return;
  const message = `The batch has ${requests.length} requests, but one call has at most ${maxRequests}.`;
  throw invalidRequest(message, "Send several batches, or a stream.");
}
