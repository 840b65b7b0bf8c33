/** Whether a key goes into a field rather than to the page. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
}
