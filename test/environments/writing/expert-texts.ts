/** An expert's texts about the first built-in abstract. */
export const expertIntroduction: Readonly<Record<"first" | "second", string>> = {
  first:
    "Storage pests take much of what small farms harvest. A beetle in the grain is hard to detect early, because its " +
    "larvae feed where no farmer can notice them. Sensors that detect such an infestation exist, but they are too " +
    "expensive for most growers, and therefore few small farms have one. Feeding larvae, however, make a noise. A cheap " +
    "microphone in a barn could find grain beetles by this sound, for example, and raise an alarm days before farmers " +
    "see the pests. Yet a barn is full of wind, of machines and of voices, and heavy rain adds to the noise. A method " +
    "that is of use to growers must separate the sound of larvae from all of these, must seldom raise a false alarm, " +
    "and needs a device that costs little and can run for a whole year. In short, we need sensors that growers can use.",
  second:
    "We present a method that uses a microphone for less than four dollars and a small neural network to find grain " +
    "beetles by sound. First, the network listens to audio for ten seconds; then it separates the noise of larvae that " +
    "feed from machines, wind and voices. For training we recorded sound in barns: 620 hours in two seasons, from 48 " +
    "barns in all. Furthermore, we used barns that the network had not heard in training to see how early it detects " +
    "an infestation. On these, it raises the alarm nine days before farmers notice the beetles, whereas a false alarm " +
    "comes once in 70 days. As a result, growers have days to save a harvest that storage pests would take. In heavy " +
    "rain, however, the accuracy of the method falls, since rain makes a noise over that of the larvae. Finally, we " +
    "discuss how growers used the alarms of the device. Moreover, we discuss what such a device needs to run on one " +
    "battery for a year, because most small farms have barns where nothing else is at hand for sensors. Overall, sound " +
    "from a cheap microphone detects grain pests early.",
};
