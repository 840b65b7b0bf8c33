import { useEffect } from "preact/hooks";

const name = "found";

/** Marks each match of the searched text in the page's transcript, and scrolls to the first. */
export function useHighlight(text: string | undefined, key: string): void {
  useEffect(() => {
    if (text === undefined || !("highlights" in CSS)) return;
    const ranges = [...foundRanges(document.querySelector(".transcript"), text)];
    CSS.highlights.set(name, new Highlight(...ranges));
    ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: "center" });
    return () => void CSS.highlights.delete(name);
  }, [text, key]);
}

/** Matches within single text nodes. A match across tokens is not marked. */
function* foundRanges(root: Element | null, text: string): Generator<Range, void, undefined> {
  if (root === null) return;
  const wanted = text.toLowerCase();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const said = node.nodeValue?.toLowerCase() ?? "";
    if (said.length !== node.nodeValue?.length) continue;
    for (let place = said.indexOf(wanted); place >= 0; place = said.indexOf(wanted, place + wanted.length)) {
      const range = new Range();
      range.setStart(node, place);
      range.setEnd(node, place + wanted.length);
      yield range;
    }
  }
}
