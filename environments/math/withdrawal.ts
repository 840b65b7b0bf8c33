const apology = "(?:(?:wait|hold on|oops|sorry|hmm|no|actually|ah|oh)[\\s,.:!—–-]+){1,3}(?:but[ ]+)?";
const wrong = "(?:wrong|incorrect|false|mistaken|a mistake|an error|not (?:quite )?(?:right|correct))";
const denial = `(?:that|this|it|(?:that|this|the|my) answer)(?:(?:['’]s|[ ]is|[ ]was) ${wrong}|[ ](?:isn|wasn|can)['’]t (?:be )?(?:right|correct))(?=[.!,;:\\n—–-])`;
/** Words that withdraw what was said before them. A question withdraws nothing. */
const withdrawals = [
  `${apology}${denial}`,
  "(?:I|we)(?:['’]ve| have)? (?:(?:miscalculated|miscounted|misread|was wrong|were wrong)|made[^.?!\\n]{0,40}? (?:mistake|error))\\b[^.!?\\n]{0,60}(?=[.!\\n])",
  "my (?:mistake|bad)(?=[.!,;:\\n—–-])",
  "(?:scratch|strike) that(?=[.!,;:\\n—–-])",
  "correction(?=[.!:—–-])",
  "(?:apologies|edit|whoops|never ?mind|on second thoughts?|rather|ignore that|correction)(?=[,:.!][^\\n]{0,80}\\d)",
  "I mean(?=,? ?[$€£¥\\\\(]*-?\\d)",
  "(?:\\((?:incorrect|wrong)\\)|which is (?:wrong|incorrect))(?=[.\\s]*$)",
  "(?:no,? wait|wait,? no|actually,? no|oops,? no)(?=[\\s.!,;:—–-])",
  "no[,:—–-] ?(?=(?:(?:it|that)(?:['’]s| is)|the answer is|it should be|make (?:that|it))? ?[$€£¥\\\\(]*-?\\d[\\d.,]*[^\\s\\d]{0,12}(?:[ ]\\p{L}{1,12})?[ ]*(?:[.!]|\\n|$))",
];
const foreign =
  "不对|不對|错了|錯了|間違え|間違い|틀렸|это (?:неверно|неправильно)|das (?:ist|war) falsch|c['’]est faux|es[ot]o (?:es incorrecto|está mal)|isso está errado|è sbagliato|dat is fout|das stimmt nicht|(?:nein|нет|nee|nej)[,:](?=[^\\n]{0,40}\\d)|no,? espera|to (?:jest )?błąd";
const withdrawal = new RegExp(
  `(?<![\\p{L}\\p{M}])(?:${withdrawals.join("|")})|(?<![\\p{Script=Latin}\\p{Script=Cyrillic}])(?:${foreign})(?=[\\s.!,;:—–-]|[^\\0-\\u04FF])|(?<=[.!\\n]\\s{0,4})(?<bare>${denial})`,
  "giu",
);

/**
 * Returns the text after the last words that withdraw what was said before them, or undefined if nothing is withdrawn.
 * Without an interjection, as in "That is wrong.", what is withdrawn is the only number before.
 */
export function afterWithdrawal(text: string): string | undefined {
  const second = /^\D*\d[\d.,]*\D+(?=\d)/.exec(text)?.[0].length ?? text.length;
  let end: number | undefined;
  for (const match of text.matchAll(withdrawal)) {
    if (match.groups?.bare === undefined || match.index < second) end = match.index + match[0].length;
  }
  return end === undefined ? undefined : text.slice(end).replace(/^[.!,;:\u2014\u2013-]+\s*/, "");
}
