import type { TextChannel } from '@gatehouse/dialects/text-view/text-channel';
import type { TextChange } from '@gatehouse/dialects/text-view/text-source';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Guardrail } from '../policies/guardrail.ts';
import type { CheckMatch, KindChecks, PieceMatches, PieceScan } from './text-checks.ts';
import { verdictOf } from './text-verdict.ts';

/** Takes what is found in texts of an answer. */
export interface Findings {
  note(on: GuardedText, matches: readonly CheckMatch[], durationMs: number): void;
}

/** A text of a stream on its way. */
export interface PassingText {
  /** The match to end its choice; null without one. */
  readonly blocked: { guardrail: Guardrail; from: number } | null;
  push(piece: string): Steps<void>;
  end(): Steps<void>;
  /** Whether all of it up to a place may leave. */
  passes(end: number): boolean;
}

/** A text of a streamed answer. Its pieces are checked as they arrive. */
export class StreamedText implements PassingText {
  blocked: { guardrail: Guardrail; from: number } | null = null;
  readonly #channel: TextChannel;
  readonly #findings: Findings;
  readonly #changing: PieceScan | null;
  readonly #flagging: PieceScan | null;
  readonly #isHeld: boolean;
  #cleared: number;
  #last: TextChange | null = null;
  /** The start of the last match by its guardrail and type: a report with the same one is its rest. */
  readonly #lastFrom = new Map<string, number>();

  constructor(channel: TextChannel, { changing, flagging, holdsTexts }: KindChecks, findings: Findings) {
    this.#channel = channel;
    this.#findings = findings;
    this.#changing = changing?.scan() ?? null;
    this.#flagging = flagging?.scan() ?? null;
    this.#isHeld = holdsTexts;
    this.#cleared = changing === null ? Infinity : 0;
  }

  *push(piece: string): Steps<void> {
    yield* this.#scan((scan) => scan.push(piece));
  }

  *end(): Steps<void> {
    yield* this.#scan((scan) => scan.end());
    if (this.#changing !== null) this.#cleared = Infinity;
  }

  /** Whether all of it up to a place may leave. A call leaves as a whole: any later text of it may block it. */
  passes(end: number): boolean {
    if (this.#changing === null) return true;
    const { isEnded, isComplete, kind } = this.#channel;
    if (this.blocked !== null && end > this.blocked.from) return false;
    if (kind === 'tool_call' && !isComplete) return false;
    return this.#isHeld && !isEnded ? false : end <= this.#cleared;
  }

  *#scan(next: (scan: PieceScan) => Steps<PieceMatches>): Steps<void> {
    if (this.blocked !== null) return;
    const startedAt = monotonicMs();
    const flagged = this.#flagging === null ? null : yield* next(this.#flagging);
    const changing = this.#changing === null ? null : yield* next(this.#changing);
    const matches = [...(flagged?.matches ?? []), ...(changing?.matches ?? [])];
    this.#findings.note(this.#channel.kind, this.#newOf(matches), monotonicMs() - startedAt);
    if (changing === null) return;
    this.#cleared = changing.cleared;
    if (changing.matches.length > 0) this.#judge(changing.matches);
  }

  #newOf(matches: readonly CheckMatch[]): readonly CheckMatch[] {
    return matches.filter(({ guardrail, type, from }) => {
      const key = `${guardrail.id} ${type}`;
      const isNew = from > (this.#lastFrom.get(key) ?? -1);
      if (isNew) this.#lastFrom.set(key, from);
      return isNew;
    });
  }

  #judge(matches: readonly CheckMatch[]): void {
    const { isFixed } = this.#channel;
    const { blockedBy, blockedFrom, changes } = verdictOf({ isFixed, isOlder: false }, matches);
    for (const change of changes) this.#replace(change);
    if (blockedBy !== null) this.blocked = { guardrail: blockedBy, from: blockedFrom };
  }

  /** A change over the end of the last one makes it longer: its beginning may have left. */
  #replace(change: TextChange): void {
    const last = this.#last;
    const isRest = last !== null && change.from < last.until;
    this.#last = isRest ? { ...last, until: Math.max(last.until, change.until) } : change;
    this.#channel.replace(this.#last);
  }
}
