import type { Grow } from '@gatehouse/dialects/text-view/text-view';
import { AppError } from '@gatehouse/kit/errors';
import { viewBytes } from '../bounds.ts';
import type { Replacement } from './text-verdict.ts';

/** Counts the memory of a view. Throws `payload_too_large` beyond `most`. */
export function bounded(grow: Grow = () => undefined, most = viewBytes): Grow {
  let left = most;
  return (bytes) => {
    left -= bytes;
    if (left < 0) throw new AppError('payload_too_large', 'Guardrails cannot check so many values.');
    grow(bytes);
  };
}

/** Changes of a text; beyond `most`, all of it is replaced by the first one, so nothing is left of the matches. */
export function changesWithin(
  most: number,
  text: string,
  changes: readonly Replacement[],
): readonly Replacement[] {
  const [first] = changes;
  if (first === undefined || changes.length <= most) return changes;
  return [{ from: 0, until: text.length, text: first.text }];
}
