import { cutText } from '@gatehouse/events/cut-text';
import { monotonicMs } from '@gatehouse/kit/clock';
import { toAppError, type AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Model } from '../catalogue/catalogue.ts';
import { sumCosts } from '../catalogue/price.ts';
import type { ProviderFailure } from '../providers/provider-failure.ts';
import type { ActiveRunOptions, OpenAttempt, SideCall } from './active-run-options.ts';
import { callCost } from './call-cost.ts';
import { completedUsage, isCount } from './completed-usage.ts';
import { failedOutcome, passedOverAttempt, runErrorOf, type BegunAnswer } from './failed-attempt.ts';
import { interruptedAttempt, interruption } from './interrupted.ts';
import { chargeOf, sumCharges } from '../runs/charge.ts';
import { startedRun, type StartedRun } from '../runs/run-record.ts';
import {
  missingToolSpan,
  type Attempt,
  type AttemptStart,
  type CalledTool,
  type RunEnd,
  type RunIdentity,
  type RunStatus,
  type StoredAnswer,
  type ToolSpan,
} from '../runs/run.ts';
import { guessTokens, sampleOf, type TextSample } from '@gatehouse/dialects/usage/token-estimate';
import { noUsage, sumUsage, withCounted, type Usage } from '@gatehouse/dialects/usage/usage';
import type { AttemptOutcome, AttemptRecord } from '../providers/open-call.ts';
import type { RunHandle } from './run-rows.ts';
import { SideCalls } from './side-calls.ts';
import { runAgeMarginMs } from '../bounds.ts';

type AttemptRequest = Parameters<AttemptRecord['startAttempt']>[1];

function isForAnswer({ purpose }: AttemptStart): boolean {
  return purpose === undefined;
}

function byNumber(a: AttemptStart, b: AttemptStart): number {
  return a.number - b.number;
}

/** A run while it is under way: its provider calls, its clock, and its one end. */
export class ActiveRun implements AttemptRecord {
  readonly identity: RunIdentity;
  readonly #options: ActiveRunOptions;
  readonly #record: StartedRun;
  #prompt: TextSample | null = null;
  readonly #handle: RunHandle = {};
  readonly #attempts: Attempt[] = [];
  readonly #passedOver = new Map<Model, Attempt>();
  readonly #tools: ToolSpan[] = [];
  /** The call for the answer. */
  #open: OpenAttempt | null = null;
  /** The calls beside it. */
  readonly #sideCalls = new SideCalls({
    open: (side, model, request) => this.#opened(model, request, side),
    commit: (open) => this.#commit(open),
    end: (open, outcome) => this.#end(open, outcome),
  });
  #started = 0;
  /** Resolves once it is known whether the first call is written. */
  #begun: Promise<void> | null = null;
  /** JSON of the charges of the last call. */
  #charges: string;
  #firstTokenAt: number | null = null;
  /** The newest answer, or its beginning. */
  #answer: TextSample | undefined;
  #visibleAnswer: (() => string | null) | null = null;
  #inputPreview: string | null = null;
  #finished = false;

  constructor(options: ActiveRunOptions) {
    this.#options = options;
    this.identity = options.identity;
    this.#record = startedRun(options.identity);
    this.#charges = JSON.stringify(options.identity.charges ?? []);
  }

  /** Provider calls made; without one there is no run. */
  get calls(): number {
    const sent = this.#attempts.filter((attempt) => attempt.status !== 'not_sent').length;
    return sent + (this.#open === null ? 0 : 1) + this.#sideCalls.open.size;
  }

  /** The id of the run, with the number of the call for its answer from the second one on. */
  get answerId(): string {
    const number = this.#attempts.filter(isForAnswer).length + (this.#open === null ? 0 : 1);
    return number <= 1 ? this.identity.id : `${this.identity.id}_${number}`;
  }

  get ageMs(): number {
    return monotonicMs() - this.#options.arrivedAt + runAgeMarginMs;
  }

  /** The charge for its calls so far. */
  get costPico(): bigint {
    return sumCharges(this.#attempts);
  }

  /** Shows the beginning of its answer in this form; null for the provider's. */
  showAs(beginning: () => string | null): void {
    this.#visibleAnswer = beginning;
  }

  /** The usage of its calls so far. */
  get usage(): Usage {
    return sumUsage(this.#attempts.map((attempt) => attempt.usage));
  }

  /** Adds to what the next provider call gets, for estimates. */
  addPrompt(text: string): void {
    const { beginning, chars } = this.#promptSample();
    this.#prompt = beginning === '' ? sampleOf(text) : { beginning, chars: chars + text.length };
  }

  #promptSample(): TextSample {
    return (this.#prompt ??= this.#options.prompt());
  }

  /** A call of a tool has ended. Times are by the monotonic clock. */
  noteTool({ startedAt, endedAt, ...tool }: CalledTool): void {
    const { telemetry, trace, arrivedAt } = this.#options;
    this.#tools.push({
      ...{ id: newId(), ...tool },
      offsetMs: Math.round(startedAt - arrivedAt),
      durationMs: Math.round(endedAt - startedAt),
    });
    telemetry.toolEnded({ run: this.identity, trace: telemetry.within(trace), ...tool, startedAt, endedAt });
  }

  /** A tool of the agent that doesn't exist: shown as a failed step of the run, and no call. */
  noteMissingTool(name: string): void {
    this.#tools.push(missingToolSpan(newId(), name));
  }

  /** Shows its request once no check can change it any more. */
  showInput(preview: string): void {
    this.#inputPreview = preview;
  }

  passOver(model: Model, { code }: AppError): void {
    const { arrivedAt, pricing } = this.#options;
    const offsetMs = Math.round(monotonicMs() - arrivedAt);
    const cost = pricing.costOf(model, noUsage, { at: new Date(), serviceTier: null });
    this.#passedOver.set(model, passedOverAttempt(model, { errorCode: code, offsetMs, cost }));
  }

  /** Adds the passed-over models behind the calls: without a call there is no run. */
  #notePassedOver(): void {
    for (const attempt of this.#passedOver.values())
      this.#attempts.push({ ...attempt, number: (this.#started += 1) });
  }

  async startAttempt(model: Model, request: AttemptRequest): Promise<TraceContext> {
    const open = this.#opened(model, request, null);
    this.#open = open;
    try {
      await this.#commit(open);
    } catch (error) {
      await this.endAttempt({ status: 'not_sent', usage: noUsage });
      // The start may have been written, so an end follows it. The client does not wait for it.
      void this.finish('error', { error: toAppError(error) });
      throw error;
    }
    return open.trace;
  }

  /**
   * Records a call of a model for a guardrail, at any time before the end of the run: also while the answer's own call is
   * under way. It is no part of the answer, and charged to the run.
   */
  beside(side: SideCall): AttemptRecord {
    return this.#sideCalls.record(side);
  }

  #opened(model: Model, { bodyBytes, maxTokens }: AttemptRequest, side: SideCall | null): OpenAttempt {
    const { admission, bounds, telemetry, trace } = this.#options;
    const { reservation } = side?.admission ?? admission;
    const start: AttemptStart = {
      id: newId(),
      number: (this.#started += 1),
      ...(side !== null && { purpose: 'guardrail' }),
      provider: model.provider.name,
      model: model.id,
      upstreamModel: model.upstreamModel,
      inputTokensGuess: guessTokens(bodyBytes),
      ...(reservation.charges !== null && { reservedPico: String(reservation.reservedPico) }),
      ...this.#changedCharges(reservation),
    };
    return {
      ...{ start, model, trace: telemetry.within(trace), calledAt: new Date(), startedAt: monotonicMs() },
      ...{ accepted: false, firstTokenAt: null, reservation, side },
      reservedTokens: (side?.bounds ?? bounds).outputOf(model, maxTokens),
    };
  }

  /** A record has one call under way: others count as interrupted in it, in case this process dies. */
  async #commit(open: OpenAttempt): Promise<void> {
    const { recorder, pricing } = this.#options;
    if (this.#begun !== null) await this.#begun;
    const all = [...(this.#open === null ? [] : [this.#open]), ...this.#sideCalls.open];
    const others = all.filter((each) => each !== open);
    const interrupted = others.map(({ start, calledAt: at, side }) =>
      interruptedAttempt(start, { operation: side?.operation ?? this.identity.operation, at }, pricing),
    );
    const writing = recorder.startAttempt({
      handle: this.#handle,
      run: this.#record,
      ...{ charges: this.identity.charges, holderId: open.reservation.holderId },
      attempt: open.start,
      ended:
        interrupted.length === 0 ? this.#attempts : [...this.#attempts, ...interrupted].toSorted(byNumber),
    });
    this.#begun ??= writing.catch(() => undefined);
    await writing;
    open.startedAt = monotonicMs();
  }

  /** The charges of the next call where they differ from those of the one before, as after midnight. */
  #changedCharges({ charges }: OpenAttempt['reservation']): Pick<AttemptStart, 'charges'> {
    const text = JSON.stringify(charges ?? []);
    if (text === this.#charges) return {};
    this.#charges = text;
    return { charges: charges ?? [] };
  }

  noteAccepted(): void {
    if (this.#open !== null) this.#open.accepted = true;
  }

  noteFirstToken(): void {
    const now = monotonicMs();
    this.#firstTokenAt ??= now;
    if (this.#open !== null) this.#open.firstTokenAt ??= now;
  }

  endAttempt(outcome: AttemptOutcome): void | Promise<void> {
    const open = this.#open;
    if (open === null) return undefined;
    this.#open = null;
    this.#answer = outcome.answer ?? this.#answer;
    return this.#end(open, outcome);
  }

  #end(open: OpenAttempt, outcome: AttemptOutcome): void | Promise<void> {
    const endedAt = monotonicMs();
    const usage = this.#usageOf(outcome, open);
    if (usage instanceof Promise)
      return usage.then((counted) => this.#noteEnd(open, outcome, counted, endedAt));
    this.#noteEnd(open, outcome, usage, endedAt);
    return undefined;
  }

  #noteEnd(open: OpenAttempt, outcome: AttemptOutcome, usage: Usage, endedAt: number): void {
    const { start } = open;
    const attempt: Attempt = {
      ...start,
      status: outcome.status,
      offsetMs: Math.round(open.startedAt - this.#options.arrivedAt),
      durationMs: Math.round(endedAt - open.startedAt),
      timeToFirstTokenMs: open.firstTokenAt === null ? null : Math.round(open.firstTokenAt - open.startedAt),
      httpStatus: outcome.httpStatus ?? null,
      errorCode: outcome.errorCode ?? null,
      responseModel: outcome.responseModel ?? null,
      usage,
      ...callCost(this.#options, open, { ...outcome, usage }),
    };
    // A later call gets results of tools with the prompt.
    const isFirst =
      open.side === null &&
      outcome.status === 'ok' &&
      this.#attempts.filter(isForAnswer).every(({ status }) => status !== 'ok');
    this.#attempts.push(attempt);
    this.#attempts.sort(byNumber);
    open.side?.charged?.(chargeOf(attempt));
    open.reservation.spend({
      tokens: usage.inputTokens + usage.outputTokens,
      costPico: chargeOf(attempt),
    });
    if (attempt.status === 'not_sent') return;
    if (isFirst && isCount(usage)) this.#options.notePrompt?.(open.model, usage.inputTokens);
    this.#observed(() =>
      this.#options.telemetry.attemptEnded({ ...open, run: this.#identityOf(open), attempt, endedAt }),
    );
  }

  /** The usage of an attempt. If it can't be estimated, the size of the request counts: the attempt is recorded in any case. */
  #usageOf(outcome: AttemptOutcome, open: OpenAttempt): Usage | Promise<Usage> {
    const { tenantId, operation, streamed } = this.#identityOf(open);
    const prompt = open.side?.prompt ?? ((): TextSample => this.#promptSample());
    const bounds = open.side?.bounds ?? this.#options.bounds;
    const request = { tenantId, operation, streamed, prompt, bounds };
    const usage = completedUsage(outcome, open, request);
    if (!(usage instanceof Promise)) return usage;
    return usage.catch((err: unknown) => {
      const fields = { err, run_id: this.identity.id };
      this.#options.log.error(fields, 'failed to estimate the tokens of a provider call');
      return withCounted(outcome.usage ?? noUsage, {
        input: open.start.inputTokensGuess,
        output: guessTokens(outcome.answer?.chars ?? 0),
      });
    });
  }

  #identityOf({ side }: OpenAttempt): RunIdentity {
    return side === null ? this.identity : { ...this.identity, operation: side.operation, streamed: false };
  }

  /** Metrics and spans do not keep a run from ending. */
  #observed(observe: () => void): void {
    try {
      observe();
    } catch (err) {
      this.#options.log.error({ err, run_id: this.identity.id }, 'failed to observe a run');
    }
  }

  failAttempt(failure: ProviderFailure, answer: BegunAnswer | null, generated: number): void | Promise<void> {
    return this.endAttempt(failedOutcome(failure, { open: this.#open, answer, generated }));
  }

  /**
   * Commits the run's end, for which the client's last byte waits. Resolves with null without a run to end: no call was
   * begun, or the run has ended already. `answer` is stored in the same transaction, in which a kept answer becomes
   * visible.
   */
  async finish(
    status: RunStatus,
    { error, answer, keeps }: { error?: AppError; answer?: StoredAnswer | undefined; keeps?: boolean } = {},
  ): Promise<RunEnd | null> {
    if (this.#finished || (this.calls === 0 && this.#attempts.length === 0)) return null;
    this.#finished = true;
    if (this.#open !== null)
      await this.endAttempt({ status: 'error', errorCode: error?.code ?? null, usage: null });
    await this.#sideCalls.endAll();
    this.#notePassedOver();
    const answering = this.#attempts.filter(isForAnswer);
    const last = answering.findLast((attempt) => attempt.status !== 'not_sent') ?? answering.at(-1);
    const preview =
      this.#options.previewChars > 0
        ? cutText(this.#visibleAnswer?.() ?? this.#answer?.beginning ?? '', this.#options.previewChars)
        : '';
    const endedAt = monotonicMs();
    const end: RunEnd = {
      status,
      durationMs: Math.round(endedAt - this.#options.arrivedAt),
      timeToFirstTokenMs:
        this.#firstTokenAt === null ? null : Math.round(this.#firstTokenAt - this.#options.arrivedAt),
      provider: last?.provider ?? null,
      model: last?.model ?? null,
      responseModel: last?.responseModel ?? null,
      usage: this.usage,
      cost: sumCosts(this.#attempts.map((attempt) => attempt.cost)),
      chargePico: this.costPico,
      ...{ errorType: null, errorMessage: null },
      ...(error !== undefined && runErrorOf(error)),
      ...(status === 'interrupted' && interruption),
      outputPreview: preview === '' ? null : preview,
      ...(this.#inputPreview !== null && { inputPreview: this.#inputPreview }),
      tools: this.#tools,
      guardrails: this.#options.guardrails?.results ?? [],
    };
    const { calls } = this;
    const timing = { trace: this.#options.trace, startedAt: this.#options.arrivedAt, endedAt };
    if (calls > 0)
      this.#observed(() => this.#options.telemetry.runEnded({ run: this.identity, end, calls, ...timing }));
    try {
      await this.#options.recorder.endRun({
        handle: this.#handle,
        run: this.#record,
        end,
        attempts: this.#attempts,
        answer,
        keeps,
        signatures: this.#options.signatures?.made ?? [],
      });
    } finally {
      // Before the client's last byte, so its next request finds the slot free.
      this.#options.admission.release();
    }
    return end;
  }

  /** Returns the amounts reserved for a request without an end to record. */
  release(): void {
    if (!this.#finished) this.#options.admission.release();
  }
}
