/** A document of the built-in search index. */
export interface SearchDocument {
  readonly title: string;
  readonly text: string;
}

/** A number in a document, and a phrase that asks for it. */
export interface Fact {
  /** The document's title. */
  readonly title: string;
  /** Such as `the height of K2 in metres`. */
  readonly phrase: string;
  readonly value: number;
}

interface FactDocument extends SearchDocument {
  readonly facts: readonly Fact[];
}

function midSentence(title: string): string {
  return title.replace(/^The /, "the ");
}

function documentOf(title: string, text: string, facts: Readonly<Record<string, number>>): FactDocument {
  return { title, text, facts: Object.entries(facts).map(([phrase, value]) => ({ title, phrase, value })) };
}

function mountain(title: string, metres: number, rest: string): FactDocument {
  const text = `${title} is a mountain. Its summit lies ${metres} metres above sea level. ${rest}`;
  return documentOf(title, text, { [`the height of ${midSentence(title)} in metres`]: metres });
}

function tower(title: string, metres: number, opened: number, rest: string): FactDocument {
  const name = midSentence(title);
  return documentOf(title, `${title} is ${metres} metres tall. It was opened in ${opened}. ${rest}`, {
    [`the height of ${name} in metres`]: metres,
    [`the year in which ${name} was opened`]: opened,
  });
}

function bridge(title: string, span: number, opened: number, rest: string): FactDocument {
  const name = midSentence(title);
  const text = `${title} is a suspension bridge. Its main span is ${span} metres long, and it was opened in ${opened}.`;
  return documentOf(title, `${text} ${rest}`, {
    [`the main span of ${name} in metres`]: span,
    [`the year in which ${name} was opened`]: opened,
  });
}

function planet(title: string, kilometres: number, rest: string): FactDocument {
  const text = `${title} is a planet of the Solar System. Its diameter at the equator is about ${kilometres} kilometres.`;
  const phrase = `the diameter of the planet ${title} at its equator in kilometres`;
  return documentOf(title, `${text} ${rest}`, { [phrase]: kilometres });
}

function person(title: string, born: number, died: number, rest: string): FactDocument {
  return documentOf(title, `${title} was born in ${born} and died in ${died}. ${rest}`, {
    [`the year of birth of ${title}`]: born,
    [`the year of death of ${title}`]: died,
  });
}

const all: readonly FactDocument[] = [
  mountain("Mount Everest", 8849, "It stands on the border of Nepal and China, and is the highest mountain there is."),
  mountain("K2", 8611, "It is in the Karakoram, and was first climbed in 1954 by an Italian expedition."),
  mountain("Kangchenjunga", 8586, "It stands on the border of Nepal and India and has five high peaks."),
  mountain("Lhotse", 8516, "It is joined to Everest by the South Col."),
  mountain("Makalu", 8485, "Its shape is that of a pyramid with four sides. It lies southeast of Everest."),
  mountain("Cho Oyu", 8188, "It lies west of Everest, near the Nangpa La, a pass that traders used."),
  mountain("Dhaulagiri", 8167, "It rises in Nepal, across the Kali Gandaki gorge from the Annapurna massif."),
  mountain("Manaslu", 8163, "It was first climbed in 1956 by a Japanese expedition."),
  mountain("Nanga Parbat", 8126, "It is the western end of the Himalayas. Its Rupal face is among the highest walls."),
  mountain("Annapurna", 8091, "In 1950 it became the first peak of more than eight thousand metres to be climbed."),
  mountain("Denali", 6190, "It stands in Alaska and is the highest mountain of North America."),
  mountain("Kilimanjaro", 5895, "It is a volcano in Tanzania, with the three cones Kibo, Mawenzi and Shira."),
  mountain("Mount Elbrus", 5642, "It is a dormant volcano in the Caucasus, in the south of Russia."),
  mountain("Mount Vinson", 4892, "It is the highest mountain of Antarctica, and was first climbed in 1966."),
  mountain("Matterhorn", 4478, "It stands on the border of Switzerland and Italy, above Zermatt."),
  mountain("Mount Fuji", 3776, "It is a volcano southwest of Tokyo, the highest mountain of Japan."),
  mountain("Aoraki", 3724, "Also called Mount Cook, it is the highest mountain of New Zealand."),
  mountain("Mount Olympus", 2918, "It is the highest mountain of Greece, and in myth the home of the gods."),
  mountain("Mount Kosciuszko", 2228, "It is the highest mountain of the mainland of Australia."),
  mountain("Ben Nevis", 1345, "It is the highest mountain of Scotland and of the British Isles."),
  tower("Burj Khalifa", 828, 2010, "It stands in Dubai, and has been the tallest building since."),
  tower("Tokyo Skytree", 634, 2012, "It sends out radio and television in the east of Tokyo."),
  tower("Taipei 101", 508, 2004, "It stands in Taiwan. A steel ball steadies it in wind and earthquakes."),
  tower("CN Tower", 553, 1976, "It stands in Toronto, near the shore of Lake Ontario."),
  tower("The Empire State Building", 443, 1931, "It stands in New York City. Its height includes the antenna."),
  tower("The Eiffel Tower", 330, 1889, "It stands in Paris on the Champ de Mars, and is made of wrought iron."),
  tower("One World Trade Center", 541, 2014, "It stands in Lower Manhattan. Its height includes the spire."),
  tower("The Sydney Tower", 309, 1981, "It is the tallest structure of Sydney in Australia."),
  tower("The Shard", 310, 2012, "It stands in London near London Bridge, and is clad in glass."),
  bridge("The Golden Gate Bridge", 1280, 1937, "It joins San Francisco and Marin County in California."),
  bridge("The Akashi Kaikyo Bridge", 1991, 1998, "It joins Kobe and Awaji Island in Japan."),
  bridge("The Humber Bridge", 1410, 1981, "It crosses an estuary in the northeast of England."),
  bridge("The Brooklyn Bridge", 486, 1883, "It crosses the East River between Manhattan and Brooklyn."),
  bridge("The Verrazzano-Narrows Bridge", 1298, 1964, "It joins Staten Island and Brooklyn in New York City."),
  bridge("The Great Belt Bridge", 1624, 1998, "It crosses the strait between Zealand and Funen in Denmark."),
  planet("Mercury", 4879, "It is the innermost planet, and goes around the Sun in 88 days."),
  planet("Venus", 12104, "Its air is mostly carbon dioxide, and it turns backwards."),
  planet("Earth", 12756, "It is the third planet from the Sun, with one moon."),
  planet("Mars", 6792, "It is red from iron oxide, and has the moons Phobos and Deimos."),
  planet("Jupiter", 142984, "It is the largest planet. Its Great Red Spot is a storm."),
  planet("Saturn", 120536, "It is known for its rings of ice and rock."),
  planet("Uranus", 51118, "It lies on its side, and was found by William Herschel in 1781."),
  planet("Neptune", 49528, "It is the outermost planet, found in 1846 from calculations."),
  person("Leonhard Euler", 1707, 1783, "A mathematician from Basel, he worked in Saint Petersburg and Berlin."),
  person(
    "Carl Friedrich Gauss",
    1777,
    1855,
    "He wrote the Disquisitiones Arithmeticae and led Göttingen's observatory.",
  ),
  person("Ada Lovelace", 1815, 1852, "She wrote notes on the Analytical Engine, with a program for Bernoulli numbers."),
  person("Charles Darwin", 1809, 1882, "He sailed on the Beagle and wrote On the Origin of Species."),
  person("Marie Curie", 1867, 1934, "She discovered polonium and radium, and won two Nobel Prizes."),
  person("Albert Einstein", 1879, 1955, "He stated the theory of relativity and explained the photoelectric effect."),
  person("Alan Turing", 1912, 1954, "He described a machine that computes, and broke ciphers at Bletchley Park."),
  person("Emmy Noether", 1882, 1935, "She linked symmetries and conservation laws, and shaped modern algebra."),
  person(
    "Srinivasa Ramanujan",
    1887,
    1920,
    "He found series and identities, and worked with G. H. Hardy in Cambridge.",
  ),
  person(
    "Michael Faraday",
    1791,
    1867,
    "He found electromagnetic induction and gave lectures at the Royal Institution.",
  ),
  person("James Clerk Maxwell", 1831, 1879, "He wrote the equations of electricity and magnetism."),
  person("Johannes Kepler", 1571, 1630, "He found the three laws by which planets move."),
  person("Ludwig van Beethoven", 1770, 1827, "A composer born in Bonn, he wrote nine symphonies."),
  person(
    "Wolfgang Amadeus Mozart",
    1756,
    1791,
    "A composer born in Salzburg, he wrote operas such as The Magic Flute.",
  ),
  person("Johann Sebastian Bach", 1685, 1750, "A composer born in Eisenach, he led the music of Leipzig's churches."),
  person("Jane Austen", 1775, 1817, "She wrote novels such as Pride and Prejudice and Emma."),
  person("Florence Nightingale", 1820, 1910, "She reformed nursing and drew charts of what soldiers died of."),
];

/** The documents of the offline index: short texts on mountains, buildings, bridges, planets and people. */
export const documents: readonly SearchDocument[] = all.map(({ title, text }) => ({ title, text }));

/** The numbers in {@link documents} that generated questions ask for. */
export const facts: readonly Fact[] = all.flatMap((document) => document.facts);
