import { TextView, type Grow, type ViewChange } from '@gatehouse/dialects/text-view/text-view';
import type { UnreadablePlace } from '@gatehouse/dialects/text-view/source-text';
import type { TextRules } from '@gatehouse/dialects/text-view/text-rules';
import { changed } from '@gatehouse/dialects/text-view/text-source';
import { monotonicMs } from '@gatehouse/kit/clock';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { AppError } from '@gatehouse/kit/errors';
import { mostChanges } from '../bounds.ts';
import type { GuardrailOutcome } from '@gatehouse/contract/guardrail-results';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import type { GuardrailResult } from '../runs/run.ts';
import { guardrailUnavailable, type Guardrail } from '../policies/guardrail.ts';
import { OutsideGuardrails, type OutsideNote } from './outside/outside-guardrails.ts';
import type { CheckFailure, CheckMatch } from './text-checks.ts';
import type { AnswerChecks } from './guarded-stream.ts';
import { argumentRules, argumentsIn, documentOf, resultRules } from './call-texts.ts';
import { outcomeRanks, outcomes } from './outcomes.ts';
import type { RunGuardrailsOptions } from './run-guardrails-options.ts';
import { StreamedText, type Findings } from './streamed-text.ts';
import type { Substitution } from './substitution.ts';
import { asOlder, verdictOf, type JudgedText, type Replacement, type TextVerdict } from './text-verdict.ts';
import { bounded, changesWithin } from './view-bounds.ts';

/** The header with the name of the guardrail behind a refusal. */
export const guardrailHeader = 'x-gateway-guardrail';

interface CheckedText extends JudgedText {
  kind: GuardedText;
  value: string;
}

interface ViewVerdict {
  blockedBy: Guardrail | null;
  changes: readonly ViewChange[];
  place: string;
}

interface Judging {
  isRepeat?: boolean;
  isOlder?: boolean;
  /** Whether answers get its values back. */
  isReturned?: boolean;
}

const nothingFound: TextVerdict = { blockedBy: null, blockedFrom: Infinity, changes: [] };

const [toolsBegin, toolsEnd] = [Buffer.from('{"tools":['), Buffer.from(']}')];

/** Texts added by the gateway have no place in the request but the agent in it. */
export const agentParam = 'model';

/** The sentence for a model in place of a call, or of its result. */
export const blockedCall = (guardrail: Guardrail): string => `Not called: ${messageOf(guardrail)}`;
export const blockedResult = (guardrail: Guardrail): string =>
  `The result is withheld: ${messageOf(guardrail)}`;

const nothing: RunGuardrailsOptions = {
  ...{ guardrails: [], applied: new Set(), outside: [], checks: new Map() },
  substitution: null,
  ...{ failing: [], onFinding: () => undefined, onFailure: () => undefined, onFailing: () => undefined },
};

/** The guardrails of one run, with what they have found so far. */
export class RunGuardrails {
  readonly #options: RunGuardrailsOptions;
  readonly #results = new Map<string, GuardrailResult>();
  /** Whether a guardrail has ended a choice of the answer. */
  isAnswerBlocked = false;
  #refusal: AppError | null = null;
  /** Reports of findings and failures; null once the run is admitted. */
  #unreported: (() => void)[] | null = [];
  /** Those asking outside once there is a run; null without any. */
  readonly outside: OutsideGuardrails | null;

  constructor(options: RunGuardrailsOptions) {
    this.#options = options;
    const { outside: guardrails, failing, onFailing } = options;
    this.#unreported?.push(() => failing.forEach(onFailing));
    const onNote = (note: OutsideNote): void => this.#noteOutside(note);
    const onOutsideFailure = (guardrail: Guardrail, cause: unknown): void =>
      this.#noteFailure({ guardrail, cause });
    this.outside =
      guardrails.length === 0
        ? null
        : new OutsideGuardrails({ guardrails, onNote, onFailure: onOutsideFailure });
  }

  /** Refuses a run: its guardrails can't be applied. */
  static unavailable(
    refusal: AppError,
    failures: Pick<RunGuardrailsOptions, 'failing' | 'onFailing'>,
  ): RunGuardrails {
    const guardrails = new RunGuardrails({ ...nothing, ...failures });
    guardrails.becomeUnavailable(refusal);
    return guardrails;
  }

  /** The same once texts have been checked. */
  becomeUnavailable(refusal: AppError): void {
    this.#refusal ??= refusal;
  }

  /** Whether the texts of its request are of earlier ones: a match is replaced in place of a refusal. */
  get isOlder(): boolean {
    return this.#options.isOlder === true;
  }

  /** Whether some guardrail may keep a text from a provider. */
  get isChanging(): boolean {
    return this.#options.guardrails.some(({ action }) => action !== 'flag');
  }

  /** The values on their way to the provider and back; null where no guardrail substitutes any. */
  get substitution(): Substitution | null {
    return this.#options.substitution;
  }

  /** Whether some guardrail checks what the client gets. */
  get checksAnswers(): boolean {
    return this.#options.guardrails.some(({ on }) => on.some(isOutput));
  }

  /** Whether some guardrail may block or change what the client gets. */
  get changesAnswers(): boolean {
    const isChange = ({ action, unreadable }: Guardrail) => action !== 'flag' || unreadable === 'block';
    return this.#options.guardrails.some((each) => each.on.some(isOutput) && isChange(each));
  }

  /** The findings of each in the texts of one kind so far. */
  get results(): readonly GuardrailResult[] {
    return [...this.#results.values()];
  }

  /** The error of a blocked request; null if it may go on. */
  get refusal(): AppError | null {
    return this.#refusal;
  }

  /** The limits have room for the run: reports what was found. Throws the refusal, if there is one. */
  admit(): void {
    for (const report of this.#unreported ?? []) report();
    this.#unreported = null;
    this.assertPassed();
  }

  /** Throws the refusal, if there is one. */
  assertPassed(): void {
    if (this.#refusal !== null) throw this.#refusal;
  }

  /**
   * A request with the changes of its texts: the body itself without any, and where the request is refused. `param`: the
   * place of texts of others than the client. `isRepeat`: its texts have been checked before. `grow`: counts the bytes of
   * memory for it. Throws 413 for too many values, and the errors of `grow`.
   */
  *requestPassed(
    body: Buffer,
    rules: TextRules,
    { param, isRepeat = false, grow }: { param?: string; isRepeat?: boolean; grow?: Grow } = {},
  ): Steps<Buffer> {
    const view = yield* TextView.read(body, rules, bounded(grow));
    const { blockedBy, changes, place } = yield* this.#judgeAll(view, {
      ...{ isRepeat, isOlder: this.isOlder && param === undefined },
      isReturned: param === undefined,
    });
    if (blockedBy !== null) this.refuse(blockedBy, param ?? place);
    else this.#refuseUnreadable(view.unreadable, param);
    if (this.#refusal !== null) return body;
    const rewritten = yield* view.rewritten(changes, { movesForms: this.substitution !== null });
    return rewritten.all[0] === body ? body : rewritten.whole;
  }

  /** A text added by the gateway, with its changes. */
  *textPassed(text: string, { kind, isOlder }: { kind: GuardedText; isOlder: boolean }): Steps<string> {
    const { blockedBy, changes } = yield* this.#judge({ kind, isOlder, isFixed: false, value: text });
    yield* this.#noteValues(text, changes, kind !== 'system');
    if (blockedBy !== null) this.refuse(blockedBy, agentParam);
    return changed(text, this.substitution?.allWritten(changes, text) ?? changes);
  }

  /** The arguments of a call by the gateway, with their changes; a sentence for the model if they are blocked. */
  *argumentsPassed(
    argumentsJson: string,
    judging: Pick<Judging, 'isRepeat'> = {},
  ): Steps<{ argumentsJson: string } | { blocked: string }> {
    const view = yield* TextView.read(documentOf(argumentsJson), argumentRules, bounded());
    const { blockedBy, changes } = yield* this.#judgeAll(view, judging);
    if (blockedBy !== null) return { blocked: blockedCall(blockedBy) };
    if (changes.length === 0) return { argumentsJson };
    return { argumentsJson: argumentsIn((yield* view.rewritten(changes)).whole) };
  }

  /** The arguments of a call by the gateway with the values of their placeholders, before they are checked. */
  *argumentsRestored(argumentsJson: string): Steps<string> {
    const { substitution } = this;
    if (substitution?.isUsed !== true) return argumentsJson;
    return argumentsIn(
      yield* substitution.documentRestored(documentOf(argumentsJson), argumentRules, bounded()),
    );
  }

  /** The result of such a call, with its changes; a sentence for the model in place of a blocked one. */
  *resultPassed(content: string): Steps<string> {
    const view = yield* TextView.read(
      Buffer.from(JSON.stringify({ result: content })),
      resultRules,
      bounded(),
    );
    const { blockedBy, changes } = yield* this.#judgeAll(view, { isReturned: true });
    if (blockedBy !== null) return blockedResult(blockedBy);
    if (changes.length === 0) return content;
    const { whole } = yield* view.rewritten(changes);
    return (JSON.parse(whole.toString()) as { result: string }).result;
  }

  /** A whole answer with the changes of its texts, the body itself without any; the guardrail to block it. */
  *answerPassed(body: Buffer, rules: TextRules): Steps<{ body: Buffer } | { blockedBy: Guardrail }> {
    const view = yield* TextView.read(body, rules, bounded());
    const { blockedBy, changes } = yield* this.#judgeAll(view);
    const blocking = [blockedBy, ...view.unreadable.map((place) => this.#guardrailAgainst(place))];
    const [first] = blocking.filter((guardrail) => guardrail !== null);
    if (first !== undefined) return { blockedBy: first };
    return { body: changes.length === 0 ? body : (yield* view.rewritten(changes)).whole };
  }

  /** The checks of an answer. `isRepeat`: what they find has been noted before. */
  answerChecks({
    isRepeat = false,
    onFailed,
  }: {
    isRepeat?: boolean;
    onFailed: (error: unknown) => void;
  }): AnswerChecks {
    const { guardrails, checks } = this.#options;
    const closed = guardrails.find(
      ({ onError, action, on }) => onError === 'closed' && action !== 'flag' && on.some(isOutput),
    );
    const note: Findings['note'] = (on, matches, durationMs) => {
      if (!isRepeat) this.#note(on, matches, durationMs);
    };
    return {
      closed: closed ?? null,
      textOf: (channel) => {
        const kindsChecks = checks.get(channel.kind);
        return kindsChecks === undefined ? null : new StreamedText(channel, kindsChecks, { note });
      },
      guardrailAgainst: (place) => this.#guardrailAgainst(place),
      refused: (guardrail, on) => {
        this.isAnswerBlocked = true;
        this.#noteOutcome(guardrail, on, 'blocked');
        return guardrail.message ?? 'The answer has content that is not allowed here.';
      },
      failed: (error) => {
        for (const guardrail of guardrails)
          for (const on of guardrail.on) if (isOutput(on)) this.#noteOutcome(guardrail, on, 'error');
        onFailed(error);
      },
    };
  }

  /** The guardrail against a place beyond reading; null if it may go on. */
  #guardrailAgainst({ kind, isOlder }: UnreadablePlace): Guardrail | null {
    if (isOlder) return null;
    const { guardrails } = this.#options;
    return guardrails.find(({ unreadable, on }) => unreadable === 'block' && on.includes(kind)) ?? null;
  }

  /** Definitions of tools joined with commas, with the changes of their texts: the same buffer without any. */
  *definitionsPassed(definitions: Buffer, rules: TextRules): Steps<Buffer> {
    const body = Buffer.concat([toolsBegin, definitions, toolsEnd]);
    const passed = yield* this.requestPassed(body, rules, { param: agentParam });
    return passed === body ? definitions : passed.subarray(toolsBegin.length, -toolsEnd.length);
  }

  /** The changes of all texts of a view, up to the first blocked one, at `place`. */
  *#judgeAll(
    { texts }: TextView,
    { isRepeat = false, isOlder = false, isReturned = false }: Judging = {},
  ): Steps<ViewVerdict> {
    const changes: (ViewChange & Replacement)[] = [];
    for (const viewText of texts) {
      const verdict = yield* this.#judge(isOlder ? asOlder(viewText) : viewText, isRepeat);
      const { blockedBy } = verdict;
      if (blockedBy !== null) return { blockedBy, changes: [], place: viewText.param };
      for (const change of changesWithin(mostChanges - changes.length, viewText.value, verdict.changes))
        changes.push({ viewText, ...change });
      yield* this.#noteValues(viewText.value, verdict.changes, isReturned);
    }
    const { substitution } = this;
    if (substitution === null) return { blockedBy: null, changes, place: '' };
    const written = changes.map((each) => ({ ...each, ...substitution.written(each, each.viewText.value) }));
    return { blockedBy: null, changes: written, place: '' };
  }

  *#noteValues(text: string, changes: readonly Replacement[], isReturned: boolean): Steps<void> {
    if (changes.length > 0) yield* this.substitution?.note(text, changes, isReturned) ?? [];
  }

  *#judge(text: CheckedText, isRepeat = false): Steps<TextVerdict> {
    const checks = this.#options.checks.get(text.kind);
    if (checks === undefined) return nothingFound;
    const startedAt = monotonicMs();
    const { matches, failures } = yield* checks.all.findingsIn(text.value);
    for (const failure of failures) this.#fail(failure, text.kind);
    const verdict = verdictOf(text, matches);
    if (isRepeat) return verdict;
    this.#note(text.kind, matches, monotonicMs() - startedAt);
    if (verdict.blockedBy !== null) this.#noteOutcome(verdict.blockedBy, text.kind, 'blocked');
    return verdict;
  }

  #note(on: GuardedText, matches: readonly CheckMatch[], durationMs: number): void {
    const { guardrails, outside } = this.#options;
    for (const guardrail of guardrails)
      if (guardrail.on.includes(on) && !outside.some((each) => each.guardrail === guardrail))
        this.#resultOf(guardrail, on).durationMs += durationMs;
    for (const { guardrail, type } of matches) {
      const result = this.#resultOf(guardrail, on);
      result.types[type] = (result.types[type] ?? 0) + 1;
      this.#noteOutcome(guardrail, on, outcomes[guardrail.action]);
    }
  }

  #noteOutside({ guardrail, on, matches, durationMs, costPico, outcome }: OutsideNote): void {
    const result = this.#resultOf(guardrail, on);
    result.durationMs += durationMs;
    result.costPico += costPico;
    for (const match of matches) {
      result.types[match.type] = (result.types[match.type] ?? 0) + 1;
      this.#noteOutcome(guardrail, on, outcomes[match.guardrail.action]);
    }
    if (outcome !== null) this.#noteOutcome(guardrail, on, outcome);
  }

  /** Reports the first outcome of its kind in the run. */
  #noteOutcome(guardrail: Guardrail, on: GuardedText, outcome: GuardrailOutcome): void {
    const result = this.#resultOf(guardrail, on);
    if (outcomeRanks[outcome] <= outcomeRanks[result.outcome]) return;
    result.outcome = outcome;
    this.#report(() => this.#options.onFinding({ guardrail, on, outcome }));
  }

  #noteFailure(failure: CheckFailure): void {
    this.#options.onFailure(failure);
    this.#report(() => this.#options.onFailing(failure.guardrail));
  }

  /** Reports once the limits have room for the run. */
  #report(report: () => void): void {
    if (this.#unreported === null) report();
    else this.#unreported.push(report);
  }

  /** Throws `guardrail_unavailable` for a closed guardrail. */
  #fail(failure: CheckFailure, on: GuardedText): void {
    const { guardrail } = failure;
    this.#noteFailure(failure);
    if (guardrail.onError === 'closed') throw guardrailUnavailable(guardrail);
    this.#noteOutcome(guardrail, on, 'error');
  }

  #resultOf(guardrail: Guardrail, on: GuardedText): GuardrailResult {
    const key = `${guardrail.id} ${on}`;
    const known = this.#results.get(key);
    if (known !== undefined) return known;
    const { name } = guardrail;
    const outcome = this.#options.applied.has(guardrail) ? 'passed' : 'error';
    const made: GuardrailResult = { name, on, outcome, types: {}, durationMs: 0, costPico: 0n };
    this.#results.set(key, made);
    return made;
  }

  /** Older places pass: a session goes on, as it does after an older match. */
  #refuseUnreadable(places: readonly UnreadablePlace[], param: string | undefined): void {
    for (const place of places) {
      const guardrail = this.#guardrailAgainst(place);
      if (guardrail === null) continue;
      this.#noteOutcome(guardrail, place.kind, 'blocked');
      this.refuse(guardrail, param ?? place.param);
      return;
    }
  }

  /** Refuses the request, unless it is refused already. */
  refuse(guardrail: Guardrail, param: string): void {
    this.#refusal ??= new AppError('content_blocked', messageOf(guardrail), {
      param: param === '' ? undefined : param,
      headers: { [guardrailHeader]: guardrail.name },
    });
  }
}

function messageOf({ message }: Guardrail): string {
  return message ?? 'It has content that is not allowed here.';
}

function isOutput(place: GuardedText): boolean {
  return place === 'answer' || place === 'tool_call';
}
