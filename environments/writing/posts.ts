/** Short invented posts, the sources of summaries. */
export const posts: readonly string[] = [
  `My upstairs neighbour, Petra, practises the cello every evening from nine until eleven. I work at a bakery and have to
get up at four in the morning, so I lose about two hours of sleep each night. I asked her twice to stop earlier. The first
time she apologised and moved her practice to eight for a week. The second time she said that she has an audition in
March and cannot change anything until then. The landlord told me that music is allowed until ten. I do not want to
ruin her audition, but I fell asleep at work on Tuesday and burned forty loaves.`,
  `I bought a used van for 3,200 euros from a man called Oskar who said that the engine had been replaced last year. Two
weeks later the engine failed on the motorway, and the mechanic found that it was the original one with a repainted cover.
Oskar now says that he was told the same story by the previous owner. The repair would cost 2,700 euros. I have his advert
saved, in which he writes "new engine", but we signed no contract. My brother thinks that I should sue him, while my
wife wants to sell the van for parts and forget it.`,
  `Our book club has met at my flat for six years because I have the largest table. Lately only three of the nine members
read the book, and the evenings have turned into dinners that I cook and pay for. When I suggested that everyone bring a
dish, Lena laughed and said that hosting was my hobby. I counted that I spent more than 90 dollars on food last month. I
love these people and do not want the club to end. However, I feel used, and I am thinking about telling them that I will
be away for the whole summer.`,
  `I am in my second year of learning to be a carpenter, and my master, Mr Halvorsen, never lets me use the large saw. The
other apprentice, who started eight months after me, already uses it every day. I asked why, and he answered that I am too
careful and would slow down the shop. Last week I built a cabinet at home with hand tools and showed him photos. He said
that the joints were the best he had seen in ten years, but he still gave the saw to the other apprentice on Monday. I
wonder whether I should look for another workshop before my exam in autumn.`,
  `Three months ago I agreed to look after my cousin's parrot for a single weekend. My cousin then took a job on a ship and
has not come back. The parrot screams at sunrise, bites my boyfriend and has learned to imitate our doorbell. Food and a vet
visit have cost me 240 pounds so far. My cousin writes that he will return in January and that the bird is family. A
shelter near Bristol would take it, but he would never forgive me. My boyfriend says that he will move out for a while if
the parrot is still here at Christmas.`,
  `I run a small online shop that sells seeds, and a customer left a one star review because her tomatoes did not grow. She
planted them outside in February, when the packet says to wait until May. I answered politely and offered to send new seeds
free of charge. She replied that I was calling her stupid, and posted a second review. My sales have dropped by about a
fifth since then. The platform refuses to remove the reviews as they contain no insults. A friend suggests asking loyal
customers to write reviews, which feels slightly dishonest to me.`,
  `For my father's seventieth birthday I planned a trip to the lake where he learned to swim. My sister, Ingrid, booked a
restaurant in the city for the same evening without asking me, and has already invited twenty guests. My father told me
privately that he hates large parties and would rather see the lake. He will not tell Ingrid, as she paid a deposit of 500
francs. I proposed that we go to the lake a day later, but she says that two celebrations would make hers look small. I
am tired of always being the one who gives way.`,
  `I trained for eleven months to run my first marathon in Rotterdam. Nine days before the race I caught a bad cold, and the
doctor told me not to run. I gave my number to my friend Jonas, who ran under my name and finished in three hours and two
minutes. Now my colleagues have seen the result online and congratulate me. My manager even mentioned it in a meeting. I
did not correct anybody, and each day it becomes harder to do so. Jonas finds it funny, but I feel like a fraud, and the
organisers forbid such a swap in their rules.`,
  `Our village wants to cut down the old chestnut beside the school because a branch fell on a parked car in the storm of
October. An expert examined the tree and wrote that it is healthy and needs only pruning, which costs 1,800 euros. The
council says that felling is cheaper, at 900 euros. I collected 312 signatures to save it. Some parents are angry with me
since their children play below it every day. The vote is next Thursday, and I have three minutes to speak. I am afraid
that I will get too emotional and lose the people who are still undecided.`,
  `I moved to Lisbon for a job in a laboratory, and my new flatmate keeps the heating off all winter to save money. It is
thirteen degrees in the kitchen. We share the bill equally, so I offered to pay two thirds of it if we heat the rooms in the
evening. He refused, because he believes that warm air is unhealthy. I bought a small electric heater for my own room, and
now he wants me to pay for the entire electricity. My contract runs until June. Another colleague has a free room, but it
is an hour away from the laboratory by bus.`,
  `At the end of a long shift I gave a customer change for a fifty instead of a twenty. My boss, Mrs Adeyemi, found the till
thirty dollars short and took it from my wages. Yesterday the customer came back, returned the thirty dollars and said that
he had noticed it at home. I put the money in the till and told my boss, expecting that she would pay me back. She said that
the books for that week were closed and that it would teach me to be careful. I think that this is not legal, but I need
the job until I begin my studies in September.`,
  `My best friend asked me to take the photographs at her wedding for free, as I did a course in photography two years ago.
I agreed and bought a lens for 400 dollars. A week before the wedding she sent me a list of 150 pictures that she wanted,
many of them during the dinner, so that I would hardly sit down. I told her that I would like to be a guest as well. She
answered that a professional would have cost her 2,500 dollars and that she had counted on me. In the end her uncle took
over for the dinner, but she has barely spoken to me since.`,
].map((text) => text.replaceAll("\n", " "));
