/**
 * A deterministic automaton for matches from one start. It consists of tables alone: another thread can
 * compile and send it.
 */
export interface Automaton {
  /** How many classes of code points there are, with one for the end of the text. */
  readonly classes: number;
  readonly pages: Uint16Array;
  readonly leaves: Uint16Array;
  /** The kind of each class's characters, by which `starts` is chosen for the next one. */
  readonly kindOf: Uint8Array;
  /** The state of a start by the kind of the character before it. */
  readonly starts: Uint16Array;
  /** The next state by state and class; 0 is the state without a match ahead. */
  readonly next: Uint16Array;
  /** By state and class: the list of types matched before the character of this class. Null: never. */
  readonly late: Uint16Array | null;
  /** By state: the list of types matched up to here. */
  readonly matched: Uint16Array;
  /** By state: the list of types with a possible match from here on. */
  readonly ahead: Uint16Array;
  /** Lists of types of matches. The first is empty. */
  readonly lists: readonly Uint16Array[];
}

/** Bytes of a short array beside its elements. */
const listOverhead = 100;

/** The size of the tables in bytes. */
export function bytesOf(automaton: Automaton): number {
  const { pages, leaves, next, late, matched, ahead, lists } = automaton;
  const tables = [pages, leaves, next, late, matched, ahead].reduce(
    (sum, table) => sum + (table?.byteLength ?? 0),
    0,
  );
  return lists.reduce((sum, list) => sum + list.byteLength + listOverhead, tables);
}
