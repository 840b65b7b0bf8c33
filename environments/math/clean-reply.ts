import { withBracedBoxes } from "../../src/core/parsers/extract-boxed.ts";
import { withoutStyle } from "./latex-style.ts";
import { plainCharacters } from "./plain-characters.ts";
import { withoutListMarks, withoutMarkup } from "./plain-markup.ts";

/** The tokens that end a turn or a text in chat templates. */
const chatMarker =
  /<\|(?:im_end|im_start|endoftext|end_of_text|eot_id|end|eom_id|return|user|assistant)\|>|<｜[^｜<>]{1,40}｜>|<\/?s>|<(?:eos|bos|pad|end_of_turn|start_of_turn)>|\[\/?INST\]/gi;
/** Symbols that end a proof or an answer. */
const endMark =
  /[\u2713\u2714\u2705\u220E\u25A0\u25A1\u{1F389}]\uFE0F?|\$\s*\\(?:blacksquare|qed|checkmark)\s*\$|\\(?:blacksquare|qed|checkmark)(?![A-Za-z])|\[END\]/giu;
const display =
  /\$\$[^$]+\$\$|\\begin\{((?:align|gather|equation)(?:ed)?\*?)\}(?:(?!\\begin)[\s\S]){1,1000}?\\end\{\1\}|\\\[(?:(?!\\\[)[\s\S]){1,1000}?\\\]/g;
/** A last line that addresses the reader and states no answer. */
const courtesy =
  /\n[ \t*_(]*(?:note|remark|this (?:completes|is the final answer)|done|I hope|hope (?:this|that)|let me know|please|feel free|thank|good luck|is there anything)\b[^\n\d$\\=]*$/i;

/**
 * Returns a reply with each displayed formula on one line, without what only decorates it (emphasis, colours, quotation
 * marks, list marks), without chat tokens and closing remarks.
 */
export function cleanReply(reply: string): string {
  const plain = withBracedBoxes(withoutStyle(plainCharacters(reply.replace(chatMarker, "\n").replace(endMark, " "))));
  let text = withoutListMarks(
    withoutMarkup(plain.replace(display, (formula) => formula.replaceAll("\n", " "))),
  ).trimEnd();
  for (let previous = ""; previous !== text; ) {
    previous = text;
    text = text.replace(courtesy, "").trimEnd();
  }
  return text;
}
