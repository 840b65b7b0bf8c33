import type { LabelledReply } from "./labelled-replies.ts";

const raw = String.raw;

/**
 * Ends of replies of SmolLM2-135M-Instruct to easy problems (200 at temperature 0.7, all read), with the answers that
 * they state, right or wrong. Only replies that are hard to parse.
 */
export const statedBySamples: readonly LabelledReply[] = [
  [
    "The least common multiple of 4 and 6 is 12.\n\nSo, the answer is 12.\n\nThis answer is also known as the Least Common Multiple of 4 and 6, which is also known as the LCM of 4 and 6",
    "12",
  ],
  ["120 km / 2 hours = 60 km/h\n\nThe answer is: 60", raw`60\text{ km/h}`],
  ["There is no other answer that matches this condition.\n\nSo the answer is C.", "C"],
  [
    "The least common multiple of 2 numbers is 2 times itself, so we multiply both the numbers, which gives us 24.\n\nThis is the least common multiple of 4 and 6, which is 12.",
    "12",
  ],
  ["Therefore, the answer is:\n$$\nx + 2\n$$", "x+2"],
  ["So, the answer is:\n\n$9x$.", "9x"],
  ["The answer is:\n\n$3.00$", "3"],
  ["5. **Noticing that the fraction is 1/10, 6. **The answer is 1/10.", raw`\frac{1}{10}`],
  [
    "The answer is simply 25%. You might want to remind yourself of the basic arithmetic operations: 25% of 80 equals 0.25 * 80 = 16.10. The correct answer is 16.10.",
    "16.1",
  ],
  ["Here's the answer:\n\n#### answer: 4", "4"],
  ["Each egg costs 3.\n\n#### Answer: 12", "12"],
  ["#### answer\nThe answer is: 132", "132"],
  ["2. Subtract x: 3x + x - 3 = 3x - 5\n\nThe answer is written as: 3x + x - 3", "4x-3"],
  ["The equation for the line with slope 2 through $(0, 1)$ is:\n\ny = 2x + 3", "y=2x+3"],
  ["The number of seconds in 2 hours is 10.\n\nSo, answer: 10.", "10"],
  ["This problem involves a bit of math, but it's not too difficult. The answer is simply 25*25 = 625.", "625"],
  ["Finally, we'll add 1 to our exponent, so the final answer is 36 + 1 = 37.\n", "37"],
  ["So, the answer is 90.\n\nThe process is: 90 * π/180 = 90 degrees, and the answer is 90 degrees.", raw`90^\circ`],
  ["2 hours = 2 * 3600 = 6000 seconds\n\nYou've answered 2 hours with 6000 seconds.", "6000"],
  ["4. 13 + 3 = 26 days\n\nThe answer is 26 days.", "26"],
  ["The final answer is 16.\n\nThe original answer is given as 16 with the new answer.", "16"],
  ["The amount of money is 2 * 2 = 4 boxes.\n\nThe answer is 4.\n\nThe ending step involves a decimal.", "4"],
  ["So the answer is 1500.\n\nA line that holds only the answer\n\nSolve the equation: 3(50) + 80 = 3 * 41.", "1500"],
  ["The answer is indeed 16, but we need to use some logic. So, we can simplify it to 4.\n\nSo, the answer is 4", "4"],
  ["The solution is $22$, which is the answer to the given equation.", "22"],
  ["The amount she makes daily is 3 * 2 = 6 dollars.\n\nSo, Janet makes 6 dollars every day.", "6"],
  ["6. 1.5 x 5 = 5.5 hours \nx 6 = 1.6 hours \nx 3 = 1.33 hours\n\nThe answer is 1.6 hours.", "1.6"],
  ["Step 5: Now I have the answer: 54\n\nThe answer", "54"],
  ["The answer is 72. I am sure that this answer is correct.", "72"],
  ["There is no other way, so the answer is the sum $x+1$", "x+1"],
  ["Since $x = 2$ or more, we get $y+1$", "1+y"],
  ["#### $x$, $y$", "x,y"],
  ["Therefore, the answer is \\[ x + 2 \\]", "x+2"],
  ["4. The answer is 10 meters.\n\nThe answer is: 10", "10"],
  ["So, the answer is A = (3√5) / 5", raw`\frac{3\sqrt{5}}{5}`],
];

/** Ends of such replies with answers that they do not state. */
export const notStatedBySamples: readonly LabelledReply[] = [
  ["$-7$ is the absolute value of the given expression.\n\nThe final answer is: $-22$", "7"],
  ["2^5 = 2^8, which is the answer.\n\nSo, the final answer is: 2^", "2"],
  [raw`Therefore, the answer is $$2^5 = 300$$ So, the answer is $2^5$.`, "32"],
  ["We have: 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10, 11, 12, 13, 14, 15, 16, 17,", "14"],
  ["The answer was 4 x $8.5 = 30.\n\nHere is the line to end the question:", "4"],
  ["The answer is not available.\n\nThe answer is not allowed to be a number.", "0"],
  ["The answer is 3.5 * 3.5 * 1.4 (total items) + 19.25 (", "19.25"],
  ["The answer is 3.5 * 3.5 * 1.4 (total items) + 19.25 (", "3.5"],
  ["The remaining time is 4 hours, the final destination of his journey.\n\nNow the answer to this puzzle is", "4"],
  ['"10 * 2 = 20"\nThe net profit will be $2*20 = $40.\nThe answer is: 9', "20"],
  ["This is our answer, written as: 10% of 50.", raw`10\%`],
  ["There are infinitely many numbers. So the answer is not an infinite set of all solutions.", raw`\infty`],
  ["The answer is:", "0"],
  // Not sampled, but close to sampled ones.
  ["The answer is not $x+1$.", "x+1"],
  ["The answer is not equal to $x+1$.", "x+1"],
  ["The answer is $5$ or $6$.", "6"],
  ["#### $x$ or $y$", "y"],
  ["#### $x$, $y$", "y"],
  ["It is $x$, and $y$", "y"],
  ["The answer is $x+1$, not $y$", "y"],
  ["Answer: $x$ or maybe $y+1$", "y+1"],
  ["The answer is $$5$$ or $$6$$.", "5"],
  ["The answer is $$5$$ or $$6$$.", "6"],
  ["The answer is 5. The answer is also 6.", "5"],
  ["The answer is 5. This answer is wrong.", "5"],
  ["The answer is written as: 5 or 6", "6"],
  ["17 is not a prime number.", "17"],
];
