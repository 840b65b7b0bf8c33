/** Words that a number may follow to name a question or an answer: "Answer 2". */
const nouns =
  "answers?|no\\.|number|questions?|problems?|exercises?|tasks?|parts?|results?|solutions?|cases?|examples?|items?|q|a|antwort|lösung|ergebnis|aufgabe|frage|teil|respuesta|solución|pregunta|problema|parte|réponse|question|problème|partie|risposta|resposta|questão|antwoord|vraag|odpowiedź|zadanie|ответ|вопрос|задача|відповідь|cevap|soru|đáp án|câu|jawaban|soal|svar|odpověď|úloha|απάντηση|תשובה|الإجابة|الجواب|उत्तर|প্রশ্ন|উত্তর";
const signs = "答案|答え|回答|解答|答|问题|問題|问|問|题|정답|답|문제|คำตอบ(?:ข้อ)?";
const lead = "(?:(?:the|my|your|final|correct)[ \\t]+){0,3}";
const of = `(?:[ \\t]+(?:to|for|of)[ \\t]+(?:the[ \\t]+)?(?:${nouns}))?`;
const index =
  "(?:(?:no|nr|n°|№|number)\\.?[ \\t]*)?#?(?:\\d{1,3}(?:\\.\\d{1,2})?[a-z]?[ \\t]*[:)]|\\((?:\\d{1,3}|[a-z])\\)[ \\t]*:|\\(\\d{1,2}\\)(?=[ \\t]+[$€£¥]?\\d))";
/** A label and an answer around a dash: "Answer 2 - 46". With an equals sign, it is a calculation. */
const dashed = new RegExp(
  `^([ \\t#>*_-]{0,8}${lead}(?:${nouns}))[ \\t]*#?\\(?(?:[1-9]|1\\d|20)\\)?[ \\t]*[-–—][ \\t]+(?=[$€£¥\\\\]?[^\\n=]*\\d[^\\n=]*$)`,
  "gimu",
);
/** A remark that another number is wrong: "18 (20 is wrong)". */
const wrongOther =
  /(?<=(\d[\d.,]*)[^\d\n]{0,20}) \((?!\1\b)[$€£¥]?-?\d[\d.,]* (?:is|was|would be) (?:wrong|incorrect)\.?\)/gi;
const numbered = new RegExp(
  `^([ \\t#>*_-]{0,8}${lead}(?:${nouns})${of})[ \\t]*${index}(?=\\s*\\n|\\s[^\\n]*[\\d$\\\\])|^([ \\t#]{0,8}(?:${signs}))[ \\t]*${index}`,
  "gimu",
);

/** Currencies and words of rounding that are written with a full stop: "Rs. 46". */
const stopped =
  /(?<![\p{L}\p{M}\d])(Rs|Re|Fr|SFr|[snd]?kr|Rp|Tk|Bs|Ksh|Tsh|Ush|Sh|Br|Php|Din|Lek|Kčs?|Ft|Pts|Esc|Gs|Mk|Lit|руб|р|грн|ca|approx|Sk)\.[ \t]*(?=[$€£¥₹]?-?\d)/giu;
/** What fills the place of the cents: "46/-", "46.-". */
const noCents = /(?<=\d)(?:\/-|[.,](?:-{1,2}|[\u2013\u2014]))(?=[\s.,;:!)*}]|$)/g;

/**
 * Returns a text whose labels and currencies have no numbers and full stops of their own: "Answer: 46" for "Answer 2:
 * 46" and for "Answer 2 - 46", and "Rs 46" for "Rs. 46/-". Remarks that another number is wrong are left out.
 */
export function withPlainLabels(text: string): string {
  return text
    .replace(numbered, (_all, words?: string, sign?: string) => `${words ?? sign}:`)
    .replace(dashed, "$1: ")
    .replace(wrongOther, "")
    .replace(stopped, "$1 ")
    .replace(noCents, "");
}
