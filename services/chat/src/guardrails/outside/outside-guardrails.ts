import type { GuardrailOutcome } from '@gatehouse/contract/guardrail-results';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import { changed } from '@gatehouse/dialects/text-view/text-source';
import type { Exceptions } from '@gatehouse/guardrails/exceptions';
import { monotonicMs } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { objectBytes } from '../../bounds.ts';
import type { Guardrail } from '../../policies/guardrail.ts';
import type { CheckMatch } from '../text-checks.ts';
import type { JudgedText } from '../text-verdict.ts';
import type { GuardrailModels } from './guardrail-models.ts';
import { askWithin, OutsideFailure, type AskingRun, type OutsideCheck } from './outside-check.ts';
import {
  changedTwice,
  combined,
  judgementOf,
  nothingFound,
  type AskedVerdict,
  type Judgement,
} from './outside-verdict.ts';

/** A guardrail with a check by a model or a server. */
export interface OutsideGuardrail {
  guardrail: Guardrail;
  check: OutsideCheck;
  exceptions: Exceptions;
}

/** A text with the changes of the gateway's own checks. */
export interface OutsideText extends JudgedText {
  kind: GuardedText;
  value: string;
}

/** The asking run. */
export interface OutsideRun {
  run: AskingRun;
  models: GuardrailModels;
  /** Aborts when its answer is no longer wanted. */
  signal: AbortSignal;
}

/** The matches of a guardrail in the texts of one kind. */
export interface OutsideNote {
  guardrail: Guardrail;
  on: GuardedText;
  matches: readonly CheckMatch[];
  durationMs: number;
  costPico: bigint;
  /** Null where the matches decide. */
  outcome: Extract<GuardrailOutcome, 'blocked' | 'error'> | null;
}

export interface OutsideGuardrailsOptions {
  /** In the order of their names. */
  guardrails: readonly OutsideGuardrail[];
  onNote: (note: OutsideNote) => void;
  /** A check had no verdict. */
  onFailure: (guardrail: Guardrail, error: unknown) => void;
}

/** The guardrails of one run asking a model or a server. */
export class OutsideGuardrails {
  readonly #options: OutsideGuardrailsOptions;
  #run: OutsideRun | null = null;

  constructor(options: OutsideGuardrailsOptions) {
    this.#options = options;
  }

  /** Whether one of them checks texts of a kind. */
  checks(kind: GuardedText): boolean {
    return this.#options.guardrails.some(({ guardrail }) => guardrail.on.includes(kind));
  }

  /** The run may be charged from now on. */
  begin(run: OutsideRun): void {
    this.#run = run;
  }

  /**
   * The verdicts on texts, in their order. All are asked at once; masking ones, one after another. Throws
   * `guardrail_unavailable` where a closed one has no verdict, and the reason of the run's signal.
   */
  async verdicts(texts: readonly OutsideText[]): Promise<readonly AskedVerdict[]> {
    const { guardrails } = this.#options;
    const masking = guardrails.filter(({ guardrail }) => guardrail.action === 'mask');
    const others = guardrails.filter(({ guardrail }) => guardrail.action !== 'mask');
    const questions = [...others.map((each) => this.#ask(each, texts)), this.#mask(masking, texts)];
    // No call goes on after this: the run may end.
    await Promise.allSettled(questions);
    const lists = await Promise.all(questions);
    return texts.map(({ value }, index) =>
      combined(
        value,
        lists.map((list) => list[index] ?? nothingFound),
      ),
    );
  }

  async #mask(
    masking: readonly OutsideGuardrail[],
    texts: readonly OutsideText[],
  ): Promise<readonly AskedVerdict[]> {
    let verdicts: readonly AskedVerdict[] = texts.map(() => nothingFound);
    for (const each of masking) {
      const before = verdicts;
      const masked = texts.map((text, index) => ({
        ...text,
        value: changed(text.value, before[index]?.changes ?? []),
      }));
      const judgements = await this.#ask(each, masked);
      verdicts = texts.map(({ value }, index) => {
        const { changes, blockedBy } = before[index] ?? nothingFound;
        const next = judgements[index] ?? nothingFound;
        return {
          blockedBy: blockedBy ?? next.blockedBy,
          changes: changedTwice(value, changes, next.changes),
        };
      });
    }
    return verdicts;
  }

  async #ask(asking: OutsideGuardrail, texts: readonly OutsideText[]): Promise<readonly Judgement[]> {
    const { guardrail } = asking;
    const checked = texts.filter(({ kind, value }) => guardrail.on.includes(kind) && value !== '');
    if (checked.length === 0) return texts.map(() => nothingFound);
    const startedAt = monotonicMs();
    const cost = { pico: 0n };
    try {
      const judgements = await this.#judge(asking, checked, cost);
      this.#note(asking, { judgements, durationMs: monotonicMs() - startedAt, costPico: cost.pico });
      return texts.map((text) => judgements.get(text) ?? nothingFound);
    } catch (error) {
      this.#run?.signal.throwIfAborted();
      this.#options.onFailure(guardrail, error);
      const [{ kind: on } = { kind: guardrail.on[0] ?? 'user' }] = checked;
      const durationMs = monotonicMs() - startedAt;
      const failed = { guardrail, on, matches: [], durationMs, costPico: cost.pico };
      this.#options.onNote({ ...failed, outcome: 'error' });
      if (guardrail.onError === 'open') return texts.map(() => nothingFound);
      throw unavailable(guardrail, error);
    }
  }

  async #judge(
    { guardrail, check, exceptions }: OutsideGuardrail,
    texts: readonly OutsideText[],
    cost: { pico: bigint },
  ): Promise<ReadonlyMap<OutsideText, Judgement>> {
    const asking = this.#run;
    if (asking === null) throw new Error('no run asks');
    // Counted before a text of megabytes becomes JSON.
    if (texts.reduce((sum, { value }) => sum + value.length, 0) > objectBytes)
      throw new OutsideFailure('too_large');
    const models = asking.models.callsOf(guardrail, (pico) => (cost.pico += pico));
    const question = {
      ...{ run: asking.run, models, signal: asking.signal },
      texts: texts.map(({ kind, value: text }) => ({ kind, text })),
    };
    const { verdicts } = await askWithin(check, question, guardrail.timeoutMs);
    return new Map(
      texts.map((text, index) => {
        const verdict = verdicts[index];
        if (verdict === undefined) throw new OutsideFailure('malformed');
        return [text, judgementOf({ guardrail, exceptions }, text, verdict)] as const;
      }),
    );
  }

  /** Duration and cost of one question count once. */
  #note(
    { guardrail }: OutsideGuardrail,
    answer: { judgements: ReadonlyMap<OutsideText, Judgement>; durationMs: number; costPico: bigint },
  ): void {
    let { durationMs, costPico } = answer;
    for (const [on, texts] of Map.groupBy(answer.judgements, ([{ kind }]) => kind)) {
      const matches = texts.flatMap(([, judgement]) => judgement.matches);
      const isBlocked = texts.some(([, { blockedBy }]) => blockedBy !== null);
      const outcome = isBlocked ? 'blocked' : null;
      this.#options.onNote({ guardrail, on, matches, durationMs, costPico, outcome });
      [durationMs, costPico] = [0, 0n];
    }
  }
}

function unavailable({ name }: Guardrail, cause: unknown): AppError {
  return new AppError('guardrail_unavailable', `The guardrail ${name} can't be applied now.`, { cause });
}
