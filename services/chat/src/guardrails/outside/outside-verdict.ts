import { changed, type TextChange } from '@gatehouse/dialects/text-view/text-source';
import type { Exceptions } from '@gatehouse/guardrails/exceptions';
import type { Guardrail } from '../../policies/guardrail.ts';
import type { CheckMatch } from '../text-checks.ts';
import { verdictOf, type JudgedText, type TextVerdict } from '../text-verdict.ts';
import type { TextVerdict as OutsideVerdict } from './outside-check.ts';

/** A verdict without the place of a block: a blocked request is refused as a whole. */
export type AskedVerdict = Pick<TextVerdict, 'blockedBy' | 'changes'>;

/** The verdict of one guardrail on one text, with its matches. */
export interface Judgement extends AskedVerdict {
  matches: readonly CheckMatch[];
}

export const nothingFound: Judgement = { blockedBy: null, changes: [], matches: [] };

/** A match without a place is of the whole text, which nothing masks: it is blocked there. */
export function judgementOf(
  { guardrail, exceptions }: { guardrail: Guardrail; exceptions: Exceptions },
  text: JudgedText & { value: string },
  verdict: OutsideVerdict,
): Judgement {
  const { action } = guardrail;
  switch (verdict.outcome) {
    case 'none':
      return nothingFound;
    case 'places': {
      const matches = verdict.matches
        .filter(({ from, until }) => !exceptions.has(text.value.slice(from, until)))
        .map((match) => ({ guardrail, ...match }));
      return { ...verdictOf(text, matches), matches };
    }
    case 'changed':
      return action === 'mask' && !text.isFixed
        ? {
            blockedBy: null,
            changes: [wholeOf(text, verdict.text)],
            matches: [{ guardrail, type: 'webhook', from: 0, until: text.value.length }],
          }
        : wholeJudgement(guardrail, text, ['webhook']);
    case 'match':
      return wholeJudgement(guardrail, text, verdict.types);
  }
}

function wholeJudgement(
  guardrail: Guardrail,
  text: JudgedText & { value: string },
  types: readonly string[],
): Judgement {
  const blocking = guardrail.action === 'flag' ? guardrail : { ...guardrail, action: 'block' as const };
  const matches = types.map((type) => ({ guardrail: blocking, type, from: 0, until: text.value.length }));
  return { ...verdictOf(text, matches), matches };
}

function wholeOf({ value }: { value: string }, text: string): TextChange {
  return { from: 0, until: value.length, text };
}

/** The changes of a text and then of its result, as changes of the text. */
export function changedTwice(
  value: string,
  first: readonly TextChange[],
  second: readonly TextChange[],
): readonly TextChange[] {
  if (first.length === 0 || second.length === 0) return first.length === 0 ? second : first;
  return [wholeOf({ value }, changed(changed(value, first), second))];
}

/**
 * The verdict of checks asked at once about one text. If several change it, their places differ: all of it is
 * replaced.
 */
export function combined(value: string, verdicts: readonly AskedVerdict[]): AskedVerdict {
  const blocked = verdicts.find(({ blockedBy }) => blockedBy !== null);
  if (blocked !== undefined) return blocked;
  const changing = verdicts.filter(({ changes }) => changes.length > 0);
  const [only] = changing;
  if (only === undefined) return nothingFound;
  return changing.length === 1 ? only : { blockedBy: null, changes: [wholeOf({ value }, '[BLOCKED]')] };
}
