/** A request that the Tinker API refuses. The official client repeats 408, 429 and 5xx, and gives up at other statuses. */
export class RequestError extends Error {
  readonly status: 400 | 401 | 404 | 408 | 409 | 410 | 413 | 415 | 422 | 429 | 503;

  constructor(status: RequestError["status"], message: string) {
    super(message);
    this.status = status;
  }
}
