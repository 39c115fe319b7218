import type { TextChange } from '@gatehouse/dialects/text-view/text-source';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { Guardrail } from '../policies/guardrail.ts';
import type { CheckMatch } from './text-checks.ts';

/** A text by what can be done with its matches. */
export interface JudgedText {
  /** Whether it can't be rewritten, unless it is older. */
  isFixed: boolean;
  /** Whether its match is replaced, never refused: it is of an earlier turn, or of the memory. */
  isOlder: boolean;
}

/** A text as one of an earlier request, unless it can't be rewritten. */
export function asOlder<Text extends JudgedText & { kind: GuardedText; value: string }>({
  kind,
  value,
  isFixed,
  isOlder,
}: Text): Pick<Text, 'kind' | 'value' | 'isFixed' | 'isOlder'> {
  return { kind, value, isFixed, isOlder: isOlder || !isFixed };
}

/** A change with the text of a mask. */
export interface Replacement extends TextChange {
  /** The type of a value to be substituted; absent for a mask. */
  type?: string;
}

/** The result of the matches in a text. */
export interface TextVerdict {
  /** The guardrail to block it; null if it may go on with its changes. */
  blockedBy: Guardrail | null;
  /** The place of the match to block it. */
  blockedFrom: number;
  /** Up to there. They don't overlap. */
  changes: readonly Replacement[];
}

const ranks: Readonly<Record<Guardrail['action'], number>> = { block: 0, mask: 1, substitute: 2, flag: 3 };

/**
 * Decides between matches: block wins over mask, mask over substitute, then the longer one. Overlapping matches are
 * replaced together, so nothing is left of the others.
 */
export function verdictOf({ isFixed, isOlder }: JudgedText, matches: readonly CheckMatch[]): TextVerdict {
  const changing = matches.filter(({ guardrail }) => guardrail.action !== 'flag');
  const winners = overlapping(changing).map(winnerOf);
  const refusing = isOlder
    ? undefined
    : winners.find(({ guardrail }) => isFixed || guardrail.action === 'block');
  const blockedFrom = refusing?.from ?? Infinity;
  return {
    ...{ blockedBy: refusing?.guardrail ?? null, blockedFrom },
    changes: winners.filter(({ from }) => from < blockedFrom).map(replacementOf),
  };
}

/** The matches in groups with no character between them in common. */
function overlapping(matches: readonly CheckMatch[]): CheckMatch[][] {
  const groups: CheckMatch[][] = [];
  let end = 0;
  for (const match of matches.toSorted((a, b) => a.from - b.from)) {
    const last = groups.at(-1);
    if (last === undefined || match.from >= end) groups.push([match]);
    else last.push(match);
    end = Math.max(end, match.until);
  }
  return groups;
}

function winnerOf(group: readonly CheckMatch[]): CheckMatch {
  const [winner, ...others] = group.toSorted(
    (a, b) => ranks[a.guardrail.action] - ranks[b.guardrail.action] || b.until - b.from - (a.until - a.from),
  );
  if (winner === undefined) throw new Error('a group of matches is empty');
  const from = Math.min(winner.from, ...others.map((other) => other.from));
  const until = Math.max(winner.until, ...others.map((other) => other.until));
  return { ...winner, from, until };
}

function replacementOf({ guardrail: { action }, type, from, until }: CheckMatch): Replacement {
  const text = action === 'block' ? '[BLOCKED]' : `[${type.toUpperCase()}]`;
  return action === 'substitute' ? { from, until, text, type } : { from, until, text };
}
