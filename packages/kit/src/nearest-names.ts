import leven from 'leven';

const maxNames = 3;
/** Further names are not compared, nor the ends of long ones: a comparison of 64 with 64 characters takes 10 µs. */
const maxCompared = 200;
const maxChars = 64;

/** The names most like another, the nearest first: at most three of the first 200. Takes up to 3 ms. */
export function nearestNames(name: string, known: Iterable<string>): string[] {
  const wanted = comparable(name);
  return Iterator.from(known)
    .take(maxCompared)
    .map((one) => ({ one, distance: distanceOf(wanted, comparable(one)) }))
    .toArray()
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, maxNames)
    .map(({ one }) => one);
}

/** The sentence that lists nearest names in an error; empty without any. Begins with a space. */
export function nearestSentence(names: readonly string[]): string {
  if (names.length === 0) return '';
  const list = names.map((name) => JSON.stringify(name)).join(', ');
  return names.length === 1 ? ` The nearest name is ${list}.` : ` The nearest names are ${list}.`;
}

function comparable(name: string): string {
  return name.slice(0, maxChars).toLowerCase();
}

/** A name that contains the other, like one with its date or vendor, is nearer than one with other letters. */
function distanceOf(wanted: string, known: string): number {
  const distance = leven(wanted, known);
  const isPart = wanted !== '' && (known.includes(wanted) || wanted.includes(known));
  return isPart ? distance / 3 : distance;
}
