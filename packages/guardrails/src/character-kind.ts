import { alphabetOf, type Alphabet, type Ranges } from './alphabet.ts';
import { condition, type Program, spacelessCharacters, wordCharacters } from './program.ts';

/** The kinds of characters distinguished by conditions. */
export const kind = { bound: 0, newline: 1, word: 2, otherWord: 3, other: 4 } as const;
export type Kind = (typeof kind)[keyof typeof kind];
export const kinds: readonly Kind[] = Object.values(kind);

const newlines: Ranges = [10, 10];
const asciiWords: Ranges = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];

/** The classes of a program's code points, with the kind of each class; the last one is the end of the text. */
export interface KnownAlphabet extends Alphabet {
  readonly kindOf: Uint8Array;
}

/** The alphabet of a program. */
export function knownAlphabet({ sets, instructions }: Program): KnownAlphabet {
  const edged = instructions.some(
    (each) => each.kind === 'condition' && (each.bits & (condition.edgeBefore | condition.edgeAfter)) !== 0,
  );
  const words = edged ? wordCharacters() : [];
  const spaceless = edged ? spacelessCharacters() : [];
  const alphabet = alphabetOf([...sets, newlines, asciiWords, words, spaceless]);
  const kindOf = new Uint8Array(alphabet.classes + 1).fill(kind.other);
  const mark = (set: number, setKind: Kind): void => {
    for (const each of alphabet.members[sets.length + set] ?? []) kindOf[each] = setKind;
  };
  mark(2, kind.otherWord);
  mark(3, kind.other);
  mark(1, kind.word);
  mark(0, kind.newline);
  kindOf[alphabet.classes] = kind.bound;
  return { ...alphabet, kindOf };
}

/** The conditions true between two characters. */
export function conditionsBetween(before: Kind, after: Kind): number {
  const boundary = (before === kind.word) !== (after === kind.word);
  return (
    (before === kind.bound ? condition.beginText | condition.beginLine : 0) |
    (before === kind.newline ? condition.beginLine : 0) |
    (after === kind.bound ? condition.endText | condition.endLine : 0) |
    (after === kind.newline ? condition.endLine : 0) |
    (boundary ? condition.wordBoundary : condition.noWordBoundary) |
    (isWord(before) ? 0 : condition.edgeBefore) |
    (isWord(after) ? 0 : condition.edgeAfter)
  );
}

function isWord(either: Kind): boolean {
  return either === kind.word || either === kind.otherWord;
}
