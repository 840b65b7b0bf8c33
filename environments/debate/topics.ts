import type { DebateTopic } from "./debate-topic.ts";

/** The built-in propositions: matters of daily life and policy with good arguments on both sides. */
export const debateTopics: readonly DebateTopic[] = [
  topic("Schools should start an hour later in the morning.", "Many secondary schools begin lessons before eight.", [
    [
      "Teenagers sleep longer and concentrate better when lessons match their body clock.",
      "Fewer tired pupils are injured in traffic on dark winter roads.",
      "Attendance rises because late arrivals and sick days become rarer.",
    ],
    [
      "Working parents lose a safe place for children before their shifts.",
      "Sports, clubs and part-time jobs are pushed into the evening.",
      "Bus companies need extra vehicles when routes overlap with commuters.",
    ],
  ]),
  topic("Cities should ban private cars from their centres.", "Some towns have closed streets to through traffic.", [
    [
      "Cleaner air lowers asthma and heart disease among residents.",
      "Walking and cycling become safe when lanes are free of vehicles.",
      "Squares and shops gain customers who stay longer on foot.",
    ],
    [
      "People with disabilities depend on door-to-door transport.",
      "Traders and plumbers must carry heavy tools and deliveries.",
      "Traffic and exhaust simply move into neighbouring districts.",
    ],
  ]),
  topic(
    "Public libraries should lend tools as well as books.",
    "A few libraries keep drills, tents and sewing machines.",
    [
      [
        "Households save money on equipment that they would use once a year.",
        "Sharing reduces waste and the raw materials that factories consume.",
        "New visitors discover classes and meet neighbours at the counter.",
      ],
      [
        "Repairs and insurance take funds away from reading and staff.",
        "Damaged or blunt machines may hurt inexperienced borrowers.",
        "Local hire shops lose income to a subsidised competitor.",
      ],
    ],
  ),
  topic("Companies should move to a four-day working week.", "Trials have kept full pay for fewer hours.", [
    [
      "Rested employees make fewer mistakes and stay healthy.",
      "Recruiting becomes easier when applicants value free time.",
      "Less commuting saves energy and empties crowded trains.",
    ],
    [
      "Hospitals, shops and hotlines need cover on every weekday.",
      "Squeezing tasks into shorter schedules raises stress.",
      "Small firms cannot afford additional staff to fill gaps.",
    ],
  ]),
  topic(
    "Homework should be abolished in primary schools.",
    "Pupils between six and ten are often given daily exercises.",
    [
      [
        "Young children need afternoons for play, friends and movement.",
        "Exercises widen inequality because some parents cannot help.",
        "Tired families quarrel over worksheets that teach very little.",
      ],
      [
        "Regular practice fixes reading and arithmetic in memory.",
        "Parents see what their child understands and where it struggles.",
        "Small duties build habits of independence and responsibility.",
      ],
    ],
  ),
  topic("Voting in national elections should be compulsory.", "Some countries fine citizens who stay away.", [
    [
      "Parliament then mirrors the poor and the young as well as the wealthy.",
      "Parties spend less on mobilising supporters and more on persuading opponents.",
      "A shared civic duty strengthens the legitimacy of governments.",
    ],
    [
      "Freedom includes the right to abstain without punishment.",
      "Uninformed ballots are cast at random by reluctant people.",
      "Enforcement costs courts and officials more than it achieves.",
    ],
  ]),
  topic("Supermarkets should be required to donate unsold food.", "Shops throw away goods close to their date.", [
    [
      "Charities could serve thousands of additional meals to hungry families.",
      "Less rubbish in landfill means lower methane emissions.",
      "Managers learn to order more carefully when surplus is counted.",
    ],
    [
      "Food banks lack refrigerators and volunteers for sudden deliveries.",
      "Liability for spoiled products falls on people acting in good faith.",
      "Treating poverty with leftovers delays fair wages and benefits.",
    ],
  ]),
  topic("Museums should be free for everyone.", "Entrance fees pay part of the budget of many collections.", [
    [
      "Low earners and students visit more often without a ticket price.",
      "Short spontaneous visits replace one exhausting tour.",
      "Culture that taxpayers own already belongs to the public.",
    ],
    [
      "Conservation and exhibitions suffer when revenue disappears.",
      "Foreign tourists profit while local taxpayers bear the bill.",
      "Crowding spoils galleries and endangers fragile objects.",
    ],
  ]),
  topic("Every new building should have solar panels on its roof.", "Panels have become cheaper in the last decade.", [
    [
      "Electricity made on the spot relieves grids and cuts bills.",
      "Installing during construction is cheaper than retrofitting later.",
      "Steady demand creates skilled jobs for installers.",
    ],
    [
      "Shaded or north-facing houses generate too little to repay the investment.",
      "Higher construction prices worsen the shortage of affordable homes.",
      "Large ground parks produce power at a fraction of the expense.",
    ],
  ]),
  topic("Zoos should be closed.", "Zoos keep wild animals for display, research and breeding.", [
    [
      "Captive elephants and bears pace in cages far smaller than their habitat.",
      "Films and sanctuaries teach natural behaviour without confinement.",
      "Money spent on enclosures would protect more species in reserves.",
    ],
    [
      "Breeding programmes rescued condors and oryx from extinction.",
      "Children who meet creatures closely support conservation as adults.",
      "Veterinary knowledge gained from keepers helps wildlife outside.",
    ],
  ]),
  topic("Mobile phones should be banned in schools.", "Rules differ from classroom to classroom.", [
    [
      "Attention in lessons improves when notifications are gone.",
      "Bullying through photos and messages loses its stage at breaks.",
      "Pupils talk and play together instead of scrolling.",
    ],
    [
      "Parents want to reach their child in emergencies.",
      "Cameras, calculators and dictionaries support modern teaching.",
      "Self-control is learned by guided use rather than prohibition.",
    ],
  ]),
  topic(
    "Public transport should be free of charge.",
    "Buses and trams are paid partly from fares and partly from taxes.",
    [
      [
        "Drivers leave cars at home, which shortens jams and cleans the air.",
        "Poor residents reach jobs and doctors without counting coins.",
        "Abolishing ticket machines and inspectors saves administration.",
      ],
      [
        "Frequency and reliability attract passengers more than price.",
        "Lost income starves operators of money for new lines.",
        "Pedestrians and cyclists switch, while motorists keep driving.",
      ],
    ],
  ),
  topic("Plastic packaging for fruit and vegetables should be banned.", "Much produce is sold wrapped.", [
    [
      "Less litter reaches rivers and oceans where turtles swallow it.",
      "Customers buy the amount they need instead of fixed portions.",
      "Recycling plants rarely recover thin greasy film.",
    ],
    [
      "Cucumbers and berries rot sooner without a protective layer.",
      "Paper and glass alternatives weigh more and burn extra fuel.",
      "Hygiene suffers when many hands touch loose goods.",
    ],
  ]),
  topic("Everyone should receive a basic income.", "Small trials have paid people a monthly sum without conditions.", [
    [
      "Security lets workers refuse exploitation and learn new skills.",
      "Simple payments replace humiliating forms and inspections.",
      "Carers and volunteers are rewarded for unpaid labour.",
    ],
    [
      "Taxes would climb steeply to finance payments for millionaires.",
      "Some adults would leave employment that society depends on.",
      "Equal sums ignore illness and disability, which demand more support.",
    ],
  ]),
  topic("Remote work should be a legal right for office staff.", "Many offices now allow some days at home.", [
    [
      "Parents and carers combine duties without exhausting commutes.",
      "Rural villages regain residents who once moved for careers.",
      "Employers rent smaller premises and hire talent from anywhere.",
    ],
    [
      "Apprentices learn slowly without colleagues beside them.",
      "Isolation and blurred boundaries harm mental health.",
      "Managers, not laws, know which teams must meet face to face.",
    ],
  ]),
  topic(
    "Advertising aimed at children should be forbidden.",
    "Snacks and toys are promoted on screens and in magazines.",
    [
      [
        "Under-twelves cannot tell persuasion from information.",
        "Sugary cereals promoted by cartoons contribute to obesity.",
        "Nagging strains family budgets and relationships.",
      ],
      [
        "Programmes for youngsters lose the sponsors that finance them.",
        "Families, rather than regulators, should guide consumption.",
        "Influencers and abroad channels evade any national prohibition.",
      ],
    ],
  ),
  topic(
    "Tourist numbers in popular old towns should be limited.",
    "Historic centres receive more visitors every summer.",
    [
      [
        "Residents regain affordable flats that were holiday lets.",
        "Ancient stones and bridges wear out under crowds.",
        "Guests enjoy calmer streets and spend more per stay.",
      ],
      [
        "Guides, cafes and hotels lose seasonal earnings.",
        "Quotas turn travel into a privilege of the rich.",
        "Cruise passengers shift to unprepared places nearby.",
      ],
    ],
  ),
  topic(
    "Physical education should be graded like other subjects.",
    "Some schools only note whether pupils took part.",
    [
      [
        "Marks show that fitness matters as much as algebra.",
        "Talented athletes receive recognition that books deny them.",
        "Clear targets motivate effort and regular training.",
      ],
      [
        "Genes and puberty decide results that diligence cannot change.",
        "Humiliation before classmates turns children away from sport.",
        "Teachers measure sprint times instead of fostering enjoyment.",
      ],
    ],
  ),
  topic("Cash should be abolished.", "More and more shops take cards and telephones only.", [
    [
      "Tax evasion and money laundering become harder without banknotes.",
      "Printing, guarding and transporting coins costs billions.",
      "Robberies of tills and buses lose their reward.",
    ],
    [
      "Older people and the homeless lack accounts or devices.",
      "Power cuts and cyber attacks would halt all trade.",
      "Every purchase would leave traces for banks and authorities.",
    ],
  ]),
  topic("Space exploration deserves more public money.", "Agencies fund probes, stations and telescopes.", [
    [
      "Satellites for weather and navigation grew out of earlier missions.",
      "Engineering challenges inspire students to choose science.",
      "International crews build trust between rival nations.",
    ],
    [
      "Hunger, disease and climate on Earth are more urgent.",
      "Private companies already launch rockets at lower cost.",
      "Robots answer most questions without risking astronauts.",
    ],
  ]),
  topic("Universities should drop entrance examinations.", "Admission often depends on one day of tests.", [
    [
      "Expensive coaching gives wealthy applicants an unfair advantage.",
      "Grades over several years predict graduation more reliably.",
      "Anxiety on a single morning hides real talent.",
    ],
    [
      "Common papers compare candidates from lenient and strict teachers.",
      "Gifted outsiders can prove themselves despite modest certificates.",
      "Essays and interviews invite bias and paid ghostwriters.",
    ],
  ]),
  topic("Bicycle helmets should be compulsory for adults.", "Most places leave the choice to riders.", [
    [
      "Protected skulls survive falls that otherwise cause brain injuries.",
      "Hospitals and insurers spend less on long rehabilitation.",
      "Visible habits of grown-ups set an example for kids.",
    ],
    [
      "Cycling declines, so exercise and its benefits are lost.",
      "Police time is better used against speeding motorists.",
      "Separate lanes prevent collisions, whereas foam merely softens them.",
    ],
  ]),
  topic("Meat should carry an extra tax.", "Livestock takes a large share of farmland.", [
    [
      "Cattle release methane and drive the clearing of forests.",
      "Lower consumption of sausages prevents heart and bowel disease.",
      "Revenue could subsidise vegetables and help farmers change.",
    ],
    [
      "Poor households feel higher prices most, while the rich shrug.",
      "Pastures on hills cannot grow any other crop.",
      "Imports from careless producers would replace regional herds.",
    ],
  ]),
  topic("Voting age should be lowered to sixteen.", "Most countries let citizens vote at eighteen.", [
    [
      "Adolescents will live longest with decisions on pensions and climate.",
      "First ballots cast while at school form a lasting habit.",
      "Many already work, pay taxes and volunteer.",
    ],
    [
      "Judgement and independence from parents still mature in these years.",
      "Contracts, juries and alcohol also wait for adulthood.",
      "Surveys find little interest in politics among teenagers.",
    ],
  ]),
  topic("Self-driving taxis should be allowed in all cities.", "Trials run in a few places with good weather.", [
    [
      "Computers never drink, text or fall asleep behind the wheel.",
      "Blind and elderly passengers gain mobility at any hour.",
      "Shared fleets need fewer parking spaces.",
    ],
    [
      "Sensors still misjudge snow, construction sites and gestures.",
      "Thousands of professional chauffeurs would lose livelihoods.",
      "Nobody can say clearly who is liable after a crash.",
    ],
  ]),
  topic(
    "Short flights should be banned where trains take under four hours.",
    "Some countries have ended a few routes.",
    [
      [
        "Rail journeys emit a small part of the carbon per passenger.",
        "Stations in the centre spare transfers and security queues.",
        "Freed airport slots serve long connections without new runways.",
      ],
      [
        "Transfer travellers need feeder planes to reach overseas hubs.",
        "Saved emissions are tiny compared with intercontinental aviation.",
        "Monopolies on tracks raise fares and delays.",
      ],
    ],
  ),
  topic("Social networks should verify the identity of all users.", "Most services accept invented names.", [
    [
      "Threats and insults decline when authors can be traced.",
      "Bots and fake accounts lose influence over opinion.",
      "Victims of fraud obtain evidence for prosecution.",
    ],
    [
      "Dissidents and abuse survivors rely on anonymity for protection.",
      "Huge databases of passports attract hackers.",
      "Bullies frequently write under their real signature anyway.",
    ],
  ]),
  topic(
    "Wolves should be reintroduced in rural regions.",
    "Wolves were hunted out of many lands and are returning to some.",
    [
      [
        "Predators keep deer in check so that young forests recover.",
        "Nature tourism brings guests and income to remote villages.",
        "Returning a native species repairs an ecological wrong.",
      ],
      [
        "Shepherds lose lambs and sleep despite fences and dogs.",
        "Compensation schemes are slow, bureaucratic and incomplete.",
        "Dense settlement leaves no room for conflicts to be avoided.",
      ],
    ],
  ),
  topic("School uniforms should be worn in all state schools.", "Practice varies between countries and regions.", [
    [
      "Brand competition fades when everybody wears identical clothes.",
      "Mornings are quicker because outfits need no decision.",
      "Belonging to a community strengthens behaviour and pride.",
    ],
    [
      "Teenagers express personality and culture through dress.",
      "Special garments burden parents who could reuse ordinary ones.",
      "Rules on skirts and hair waste teachers' energy on discipline.",
    ],
  ]),
  topic(
    "Nuclear power should be part of a clean electricity supply.",
    "Reactors provide about a tenth of the world's electricity.",
    [
      [
        "Plants deliver steady output at night and without wind.",
        "Little land is used for each unit of energy.",
        "Lifetime carbon emissions resemble those of turbines.",
      ],
      [
        "Waste stays dangerous for thousands of years without final storage.",
        "Projects overrun budgets and deadlines by a decade.",
        "Rare accidents force evacuation of entire provinces.",
      ],
    ],
  ),
  topic("Fireworks for private use should be banned.", "In many places people light rockets at the new year.", [
    [
      "Emergency wards fill with burned hands and injured eyes.",
      "Pets and wild birds panic at explosions.",
      "Fine dust and rubbish cover streets the next morning.",
    ],
    [
      "Families cherish a colourful tradition once a year.",
      "Illegal, more dangerous imports would replace tested products.",
      "Careful adults should not be punished for a reckless few.",
    ],
  ]),
  topic(
    "Historic buildings should be renovated rather than replaced.",
    "Old houses stand on land where larger ones could be built.",
    [
      [
        "Craftsmanship and memory give neighbourhoods their identity.",
        "Keeping walls avoids the carbon of concrete and demolition.",
        "Visitors and small businesses prefer characterful streets.",
      ],
      [
        "Modern flats house more tenants on the same plot.",
        "Damp, narrow stairs exclude wheelchairs and waste heating.",
        "Preservation rules delay repairs and inflate rents.",
      ],
    ],
  ),
  topic("All pupils should learn to program computers.", "Coding is an optional subject in most places.", [
    [
      "Breaking problems into steps trains logical thinking.",
      "Understanding algorithms helps citizens question automated decisions.",
      "Girls try technology before stereotypes discourage them.",
    ],
    [
      "Timetables are full, so music or languages would shrink.",
      "Qualified teachers are missing and courses become copying.",
      "Languages and tools taught today are obsolete at graduation.",
    ],
  ]),
  topic("Professional athletes earn too much.", "Top players are paid more in a week than nurses in years.", [
    [
      "Wages should reflect service to society rather than entertainment.",
      "Clubs fall into debt and raise ticket prices for fans.",
      "Youngsters neglect education for a dream few achieve.",
    ],
    [
      "Careers are brief and one injury may end them.",
      "Broadcasters and sponsors pay voluntarily for rare talent.",
      "Stars finance academies, lower leagues and charity.",
    ],
  ]),
  topic("Tap water should be served free in all restaurants.", "In some countries guests must buy bottled water.", [
    [
      "Bottles travel by lorry and end as rubbish.",
      "Hydration is a basic need, particularly in summer heat.",
      "Diners choose juice or wine freely instead of by compulsion.",
    ],
    [
      "Glasses, washing and waiters' minutes are genuine expenses.",
      "Margins on drinks keep meals affordable in small taverns.",
      "Owners compete by service and need no further regulation.",
    ],
  ]),
  topic("Daylight saving time should be abolished.", "Clocks change twice a year in many countries.", [
    [
      "Disturbed sleep raises accidents and heart attacks each spring.",
      "Farm animals and babies ignore altered schedules.",
      "Promised energy savings have shrunk with efficient lamps.",
    ],
    [
      "Bright summer evenings invite sport and garden cafes.",
      "Darkness after office hours makes pedestrians harder to see.",
      "Neighbouring states need a common arrangement for trade.",
    ],
  ]),
];

function topic(
  proposition: string,
  background: string,
  [pro, con]: readonly [readonly string[], readonly string[]],
): DebateTopic {
  return { proposition, background, pro, con };
}
