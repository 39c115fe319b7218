export interface Stopped {
  pieces: string[];
  /** The sequence that ended the text; null if none of them is in it. */
  stopSequence: string | null;
}

/** Ends a text before the first of these sequences that occurs in it. */
export function stopAt(pieces: string[], stopSequences: readonly string[]): Stopped {
  const text = pieces.join('');
  let end = text.length;
  let stopSequence: string | null = null;
  for (const sequence of stopSequences) {
    const at = text.indexOf(sequence);
    if (sequence === '' || at === -1 || at >= end) continue;
    end = at;
    stopSequence = sequence;
  }
  return { pieces: stopSequence === null ? pieces : firstOf(pieces, end), stopSequence };
}

function firstOf(pieces: string[], length: number): string[] {
  const kept: string[] = [];
  let left = length;
  for (const piece of pieces) {
    if (left <= 0) break;
    kept.push(piece.slice(0, left));
    left -= piece.length;
  }
  return kept;
}
