/**
 * The header with the id of one HTTP request, which a server copies into its answer. A client discards an answer with
 * another id: it belongs to another request, because a proxy has repeated or mixed up answers. It is not a part of the
 * Tinker API. Servers without it ignore it.
 */
export const exchangeIdHeader = "x-lyceum-exchange-id";

/** True for an id that a server copies. */
export function isExchangeId(text: string | undefined): text is string {
  return text !== undefined && /^[\w-]{1,64}$/.test(text);
}
