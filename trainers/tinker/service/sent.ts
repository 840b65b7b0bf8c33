/** A request, with the digest of its body. */
export interface Sent<T> {
  readonly body: T;
  readonly digest: string;
}

/** The answer to a request whose result is computed later. */
export type Promised = Readonly<Record<string, unknown>> & { readonly request_id: string };
