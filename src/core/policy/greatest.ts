/** Returns the places of the k greatest values, greatest first. Ties go to the lower place. */
export function greatest(values: Float32Array, k: number): number[] {
  const places: number[] = [];
  for (let place = 0; k > 0 && place < values.length; place++) {
    if (places.length === k && !(values[place]! > values[places[k - 1]!]!)) continue;
    if (places.length === k) places.pop();
    let at = places.length;
    while (at > 0 && values[place]! > values[places[at - 1]!]!) at--;
    places.splice(at, 0, place);
  }
  return places;
}
