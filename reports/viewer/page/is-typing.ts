/** True if a key press goes into an input field. */
export function isTyping(event: KeyboardEvent): boolean {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return true;
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
}
