import type { Writer } from "./writing-prompts.ts";

/** A short and a detailed summary of each built-in post, in the order of the posts. */
export const summaries: readonly Readonly<Record<Writer, string>>[] = [
  {
    first:
      "My neighbour practises the cello until eleven, although I work at a bakery and get up at four. She cannot stop " +
      "earlier because of an audition in March.",
    second:
      "Petra, my upstairs neighbour, practises her cello every evening until eleven, so I lose two hours of sleep, " +
      "because I get up at four for the bakery. I asked her to stop earlier. First she apologised and moved her practice for a " +
      "week, but then she said that her audition in March changes everything. The landlord allows music until ten. I " +
      "fell asleep at work and burned forty loaves, yet I would not ruin her audition.",
  },
  {
    first:
      "I bought a used van with a new engine, as Oskar said, but the engine failed two weeks later. The repair would cost " +
      "2,700 euros and we signed no contract.",
    second:
      "I bought a van for 3,200 euros, because Oskar said that its engine had been replaced last year. Two weeks later " +
      "this engine failed on the motorway, and then the mechanic found the original one under a repainted cover. Oskar " +
      "says that the previous owner told him the same story. The repair would cost 2,700 euros. I have the advert in " +
      "which he writes of a new engine, but we signed no contract. So my brother thinks I should sue, while my wife wants to sell the van for parts.",
  },
  {
    first:
      "Lately only three of the nine members of our book club read the book, and the evenings are dinners that I cook and " +
      "pay for. I love these people, but I feel used.",
    second:
      "Our book club met at my flat for six years, because my table is the largest. Lately three of nine members read the " +
      "book, so the evenings turned into dinners that I cook and pay for. First I suggested that everyone bring a dish, but " +
      "Lena laughed and said hosting was my hobby. I spent more than 90 dollars on food in a month. I love these people, " +
      "although I feel used, and I will perhaps tell them that I will be away this summer.",
  },
  {
    first:
      "My master never lets me use the large saw, as I am too careful, but the other apprentice uses it every day. I might " +
      "look for another workshop before my exam in autumn.",
    second:
      "In my second year of learning to be a carpenter, my master, Mr Halvorsen, will not let me use the large saw, although the " +
      "other apprentice started eight months after me. He answered that I am too careful, and so I would slow the shop down. " +
      "Then I built a cabinet at home with hand tools, and showed him photos. He said these joints were the best in ten " +
      "years, but still gave him the saw on Monday. If nothing changes, I may look for another workshop before " +
      "the exam in autumn.",
  },
  {
    first:
      "I look after my cousin's parrot, which screams at sunrise and bites my boyfriend. My cousin took a job on a ship, " +
      "and a shelter would take the bird.",
    second:
      "Three months ago I agreed to look after a parrot for a single weekend, but then my cousin took a job on a ship and did " +
      "not come back. The parrot screams at sunrise, bites my boyfriend and imitates our doorbell, while food and the vet " +
      "cost me 240 pounds. The cousin writes that he will return in January, because the bird is family. So he would " +
      "never forgive me a shelter near Bristol. My boyfriend will move out if this parrot is here at Christmas.",
  },
  {
    first:
      "A customer of my online shop left a one star review because her tomatoes did not grow, and posted a second one. My " +
      "sales have dropped by a fifth since then.",
    second:
      "My small online shop sells seeds. A customer planted tomatoes outside in February, although the packet says to wait, " +
      "and then she left a one star review. I answered politely and offered new seeds free of charge, but she " +
      "replied that I called her stupid, and so posted a second review. My sales dropped by a fifth. The platform refuses " +
      "to remove reviews, because they contain no insults. Finally, a friend suggests asking loyal customers for reviews, " +
      "which feels dishonest.",
  },
  {
    first:
      "I planned a trip to the lake for my father's seventieth birthday, but my sister booked a restaurant for the same " +
      "evening. He hates large parties.",
    second:
      "For the seventieth birthday of my father I planned a trip to a lake where he learned to swim, but then Ingrid, my " +
      "sister, booked a restaurant in the city for that same evening and invited twenty guests. My father told me privately " +
      "that he would rather see the lake, because he hates such large parties. She paid a deposit of 500 francs, so he will " +
      "not tell Ingrid. If we go a day later, she says, two celebrations make hers look small. I am tired of giving way.",
  },
  {
    first:
      "I trained eleven months for my first marathon and caught a bad cold, so my friend Jonas ran under my name. Now my " +
      "colleagues congratulate me, and I feel like a fraud.",
    second:
      "I trained eleven months to run a first marathon in Rotterdam, but nine days before the race I caught a cold, and the " +
      "doctor told me not to run. Then I gave my number to Jonas, who ran under my name and finished in three hours. My " +
      "colleagues saw that result online, so they congratulate me, and the manager mentioned it in a meeting. I did not " +
      "correct anybody, although it becomes harder each day. Jonas finds it funny while I feel like a fraud, because the " +
      "organisers forbid such a swap.",
  },
  {
    first:
      "Our village would cut down the old chestnut beside its school, but the expert says it is healthy and only needs some " +
      "pruning. The vote is next Thursday.",
    second:
      "The village wants to cut the chestnut beside the school down, because a branch fell on a parked car in a storm. An " +
      "expert examined this tree and then wrote that it is healthy, so it needs only pruning for 1,800 euros, but the council " +
      "says felling is cheaper. I collected 312 signatures. Some parents are angry, since their children play below the tree. " +
      "The vote is on Thursday, and I have three minutes to speak. If I get emotional, I lose people who are undecided.",
  },
  {
    first:
      "My new flatmate keeps the heating off all winter to save money, although I offered to pay two thirds of the bill. My " +
      "contract runs until June, and he is warm enough.",
    second:
      "I moved to Lisbon for a job in a laboratory, but my flatmate keeps the heating off, so the kitchen has thirteen " +
      "degrees. We share the bill equally. First I offered to pay two thirds of it, if we heat rooms in the evening. He " +
      "refused because warm air, he believes, is unhealthy. Then I bought an electric heater for my own room, and he wants " +
      "me to pay the entire electricity. My contract runs until June. Another colleague has a free room an hour away from " +
      "the laboratory.",
  },
  {
    first:
      "I gave a customer change for a fifty, and my boss took thirty dollars from my wages. The customer came back and " +
      "returned the thirty dollars, but she will not pay me back.",
    second:
      "After a long shift I gave a customer change for a fifty instead of a twenty, so Mrs Adeyemi, my boss, found the till " +
      "thirty dollars short and took them from my wages. Then the customer came back yesterday and returned the thirty " +
      "dollars that he noticed at home. I put this money in the till, but my boss said that the books for the week were " +
      "closed. It would teach me to be careful, she said. This is not legal, I think, but I need the job, if only " +
      "until my studies begin in September.",
  },
  {
    first:
      "My best friend wants me to take photographs at her wedding for free, but I would rather be a guest, and I told her " +
      "so. She has barely spoken since.",
    second:
      "My friend asked for free photographs at her wedding, because I did a course in photography, so I bought a lens for " +
      "400 dollars. Then a list of 150 pictures came a week before the wedding, many of them during dinner, although I would " +
      "hardly sit down. I would like to be a guest, I told her, but she answered that professionals would have cost 2,500 " +
      "dollars and that she had counted on me. In the end her uncle took over.",
  },
];
