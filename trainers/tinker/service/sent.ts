/** A request, with the digest of its body. */
export interface Sent<T> {
  readonly body: T;
  readonly digest: string;
}
