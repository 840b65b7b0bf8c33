/** What ends a turn or a text in the templates of chat models. */
const chatMarker =
  /<\|(?:im_end|im_start|endoftext|end_of_text|eot_id|end|eom_id|return|user|assistant)\|>|<｜[^｜<>]{1,40}｜>|<\/?s>|<(?:eos|bos|pad|end_of_turn|start_of_turn)>|\[\/?INST\]/gi;
const display = /\$\$[^$]+\$\$|\\\[(?:(?!\\\[)[\s\S]){1,1000}?\\\]/g;
/** A last line that speaks to the reader and states nothing. */
const courtesy =
  /\n[ \t*_(]*(?:note|remark|I hope|hope (?:this|that)|let me know|please|feel free|thank|good luck|is there anything)\b[^\n\d$\\=]*$/i;

/** A reply with each displayed formula on one line, without chat markers and closing courtesies. */
export function cleanReply(reply: string): string {
  let text = reply
    .replace(chatMarker, "\n")
    .replace(display, (formula) => formula.replaceAll("\n", " "))
    .trimEnd();
  for (let previous = ""; previous !== text; ) {
    previous = text;
    text = text.replace(courtesy, "").trimEnd();
  }
  return text;
}
