/** The common five-letter words that secrets are chosen from, in alphabetical order. */
export const words: readonly string[] = `
about above actor admit adult after again agent agree ahead alarm album alert alike alive allow alone along angel anger
angle apart apple apply apron arena argue arise armor aside awake award aware awful
baker basic beach beard beast begin being below bench berry birth black blade blame blank blast blaze bleed blend bless
blind block blood bloom board bonus boost booth bound brain brake brand brave bread break brick bride brief bring broad
broom brown brush build bunch burst
cabin cable camel candy cargo carry catch cause chain chair chalk charm chart chase cheap check cheek cheer chess chest
chief child choir chose civic claim class clean clear clerk cliff climb clock close cloth cloud coach coast coral couch
count court cover crack craft crane crash cream crime crisp cross crowd crown cruel crush curve cycle
daily dairy dance death delay depth diary dirty ditch doubt dozen draft drain drama dream dress drift drill drink drive
eager eagle early earth eight elbow elder elect empty enemy enjoy enter entry equal error event every exact exist extra
fable faith false fancy fault favor feast fence fever field fifth fifty fight final first flame flash fleet flesh float
flock flood floor flour fluid focus force forth forty found frame fresh front frost fruit funny
ghost giant given glass globe glory glove grace grade grain grand grant grape graph grass grave great greed green greet
grief group grove guard guess guest guide
habit happy harsh haste heart heavy hedge hello hobby honey honor horse hotel house human humor
ideal image index inner input issue ivory
jewel joint judge juice
kneel knife knock known
label labor large laser laugh layer learn lemon level light limit linen liver local loose lower loyal lucky lunch
magic major maker maple march match maybe mayor medal mercy merit metal meter might minor mixed model money month moral
motor mount mouse mouth movie music
naval nerve never night noble noise north novel nurse
ocean offer often olive onion opera orbit order organ other outer owner
paint panel paper party patch pause peace pearl pedal phase phone photo piano piece pilot pitch place plain plane plant
plate plaza point porch pound power press price pride prime print prize proof proud prove pupil purse
queen quest quick quiet quite
radio raise ranch range rapid ratio reach ready realm rebel refer relax reply rider ridge rifle right rival river roast
robin robot rough round route royal ruler rural
salad sauce scale scare scene scent scope score scout sense serve seven shade shake shame shape share sharp sheep sheet
shelf shell shift shine shirt shock shore short shout shown sight silly since skill skirt slave sleep slice slide slope
small smart smell smile smoke snake solar solid solve sorry sound south space spare speak speed spell spend spice spoon
sport spray staff stage stair stamp stand start state steam steel steep stick still stock stone store storm story stove
straw strip study style sugar sunny sweet swift swing sword
table taste teach tempo tenth thank theme there thick thing think third those three throw thumb tiger title toast
today tooth topic torch total touch tough tower trace track trade trail train treat trend trial tribe trick truck trust
truth twice twist
uncle under union unite until upper upset urban usual
valid value vault video virus visit vital vivid vocal voice voter
wagon waist waste watch water weary wheat wheel where which while whole widow woman world worry worth wound wrist write
wrong yacht yield young youth zebra
`
  .trim()
  .split(/\s+/);
