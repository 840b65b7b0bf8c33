/** Abstracts of invented studies, the sources of introductions. */
export const abstracts: readonly string[] = [
  `Small farms lose much of their harvest to storage pests, yet sensors that detect them early are too expensive for most
growers. We present a method that finds grain beetles by sound, using a microphone that costs less than four dollars and a
small neural network. The network listens to ten seconds of audio and separates the noise of feeding larvae from wind,
machines and voices. We recorded 620 hours of sound in 48 barns over two seasons. On barns that were not used for
training, the method detects an infestation nine days before farmers notice it, and it raises a false alarm once in 70 days.
Its accuracy falls during heavy rain. We discuss how growers used the alarms and what the device needs in order to run for a
year on one battery.`,
  `Language models are often asked to summarise long meetings, but it is unclear which errors matter to the people who
attended. We asked 96 employees of five companies to read automatic summaries of their own meetings and to mark every
statement that was wrong, missing or misleading. Readers forgave most missing details. They objected strongly to decisions
that were attributed to the wrong person, even where everything else was right. Common automatic metrics hardly reflect
this: the correlation with the readers' judgement is 0.21. We propose a simple metric that compares who decided what, and
its correlation is 0.58. The metric needs a list of participants, which most recordings contain. We also describe three
kinds of meetings for which it fails.`,
  `City trees cool the air, but planting programmes seldom measure how long young trees survive. We followed 5,400 street
trees in eight towns for six years after planting. One tree in four died, most of them in the second summer. Survival
depended less on the species than on the volume of open soil around the trunk and on whether a resident had agreed to water
the tree. Trees with a resident survived twice as often through dry summers. The cost of organising residents was lower than
the cost of replacing dead trees in all towns but one. We conclude that programmes should count living trees after five
years instead of planted trees, and we give a model that predicts survival from four measurements.`,
  `Robots that sort waste must recognise objects that are crushed, wet or partly hidden. Existing data sets show clean
objects on plain backgrounds. We introduce a collection of 210,000 images from the belts of two recycling plants, in which
each object is labelled by material and by how well a gripper could hold it. A detector trained on our images reaches a
precision of 81 percent for plastics, compared with 54 percent for one trained on clean objects. Most remaining mistakes
concern black plastics and layered packaging. We tested the detector on a robot arm for 30 days, where it removed 19 percent
more plastic per hour than the previous system. We discuss what labels were most useful and which were not worth
their cost.`,
  `Students who explain a solution to others often learn more than those who only read it. We study whether explaining to a
computer program has the same effect. In a school experiment with 412 pupils, one group explained fractions to a program that
asked simple questions, a second group explained them to a classmate, and a third group read worked examples. After four
weeks, both groups that explained scored higher than the readers by about a tenth of the scale. The program and the
classmates were equally effective on average. However, shy pupils gained more with the program, and talkative pupils
gained more with a classmate. The effect was still visible after three months. We describe the questions of the program
and discuss how teachers could combine both forms.`,
  `Rivers that are fed by glaciers change as the ice retreats, and small water plants must plan for it. We combine twelve
years of flow measurements from 31 mountain streams with satellite images of snow cover to predict the flow of the coming
month. The model is a regression with nine inputs that can be computed on a phone. Its error is 14 percent in summer and 27
percent in spring, which is lower than the error of the tables that operators use today. The gain is greatest in streams
where more than half of the catchment was covered by ice. Operators of six plants used the forecasts for a year and reported
fewer emergency closures. We show where the model fails and how often it should be fitted again.`,
  `Old sound recordings on wax cylinders are too fragile to be played. We describe a way to read them with a camera and a
laser line, without touching the surface. The cylinder turns below the camera, and the depth of the groove is computed from
the shape of the line. A full cylinder takes 40 minutes. We read 118 cylinders from three archives, 17 of which are broken
into pieces that we joined by software. In a listening test, experts preferred our results to those of a careful stylus in
two cases out of three. Mould remains a problem, as it hides the groove from the camera. The equipment costs about 2,600
euros and can be built by an archive with ordinary tools.`,
  `Emergency rooms sort patients by urgency within minutes, and the decision depends on the nurse who makes it. We examined
88,000 decisions by 140 nurses in four hospitals to learn how much they differ for similar patients. Patients with chest
pain were judged alike almost everywhere. For patients with abdominal pain, the chance to be sorted as urgent ranged from 22
to 61 percent among nurses of the same hospital. Experience explained little of the difference, while the number of people in
the waiting room explained much. A short checklist reduced the spread by half in a trial of ten weeks. It added 35 seconds
to each decision. We discuss why the checklist worked less well at night.`,
].map((text) => text.replaceAll("\n", " "));
