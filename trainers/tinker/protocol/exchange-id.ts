/**
 * The header with the id of one HTTP request. The server copies it into its answer. A client discards an answer with
 * another id, because a proxy has repeated or swapped answers. The header is not part of the Tinker API. Other servers
 * ignore it.
 */
export const exchangeIdHeader = "x-lyceum-exchange-id";

/** True for an id that a server copies. */
export function isExchangeId(text: string | undefined): text is string {
  return text !== undefined && /^[\w-]{1,64}$/.test(text);
}
