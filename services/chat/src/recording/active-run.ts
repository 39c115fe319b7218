import { cutText } from '@gatehouse/events/cut-text';
import { monotonicMs } from '@gatehouse/kit/clock';
import { toAppError, type AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { Logger } from '@gatehouse/kit/log';
import { cappedPico } from '@gatehouse/kit/money';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { Model } from '../catalogue/catalogue.ts';
import { sumCosts } from '../catalogue/price.ts';
import type { Pricing } from '../catalogue/pricing.ts';
import type { ProviderFailure } from '../providers/provider-failure.ts';
import { completedUsage, isCount } from './completed-usage.ts';
import { attemptErrorOf, attemptStatusOf, isFree, passedOverAttempt, runErrorOf } from './failed-attempt.ts';
import { interruption } from './interrupted.ts';
import { chargeFor, chargeOf, sumCharges } from '../runs/charge.ts';
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
import type { MeteredAnswer } from '@gatehouse/dialects/dialect';
import { uncountedTools, type FeeTool } from '@gatehouse/dialects/usage/fee-tools';
import { guessTokens, sampleOf, type TextSample } from '@gatehouse/dialects/usage/token-estimate';
import { noUsage, sumUsage, withCounted, type Usage } from '@gatehouse/dialects/usage/usage';
import type { Admission, Reservation } from '../limits/admission.ts';
import type { NotePrompt } from '../limits/counted-prompts.ts';
import type { AnswerBounds } from '../limits/hidden-tokens.ts';
import type { AttemptOutcome, AttemptRecord } from '../providers/open-call.ts';
import type { SignatureOrigins } from '../providers/signature-origins.ts';
import type { RunHandle, RunWriter } from './run-rows.ts';
import type { RunTelemetry } from './run-telemetry.ts';
import { runAgeMarginMs } from '../bounds.ts';

interface OpenAttempt {
  start: AttemptStart;
  model: Model;
  trace: TraceContext;
  /** The price at this time counts. */
  calledAt: Date;
  startedAt: number;
  /** Whether the provider sent success headers, and will bill the call. */
  accepted: boolean;
  firstTokenAt: number | null;
  /** Tokens reserved for its answer. */
  reservedTokens: number;
  reservation: Reservation;
}

export interface ActiveRunOptions {
  identity: RunIdentity;
  recorder: RunWriter;
  pricing: Pricing;
  telemetry: RunTelemetry;
  log: Logger;
  /** The run's span. */
  trace: TraceContext;
  /** Samples the agent's additions before the client's messages, and these. Called once, for an estimate. */
  prompt: () => TextSample;
  previewChars: number;
  arrivedAt: number;
  /** Amounts of the tenant's limits reserved for it. */
  admission: Admission;
  /** For estimates of tokens not reported by a provider. */
  bounds: AnswerBounds;
  /** Tools of the provider charged to a budget. */
  feeTools: readonly FeeTool[];
  /** Gets the signatures of its answers; null where they are not kept. */
  signatures: Pick<SignatureOrigins, 'made'> | null;
  /** Notes the tokens of its prompt; null where no limit depends on them. */
  notePrompt: NotePrompt | null;
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
  #open: OpenAttempt | null = null;
  /** JSON of the charges of the last call. */
  #charges: string;
  #firstTokenAt: number | null = null;
  /** The newest answer, or its beginning. */
  #answer: TextSample | undefined;
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
    return sent + (this.#open === null ? 0 : 1);
  }

  /** The id of the run, with the number of the call from the second one on. */
  get answerId(): string {
    const number = this.#open?.start.number ?? this.#attempts.length;
    return number <= 1 ? this.identity.id : `${this.identity.id}_${number}`;
  }

  get ageMs(): number {
    return monotonicMs() - this.#options.arrivedAt + runAgeMarginMs;
  }

  /** The charge for its calls so far. */
  get costPico(): bigint {
    return sumCharges(this.#attempts);
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

  passOver(model: Model, { code }: AppError): void {
    const { arrivedAt, pricing } = this.#options;
    const offsetMs = Math.round(monotonicMs() - arrivedAt);
    const cost = pricing.costOf(model, noUsage, { at: new Date(), serviceTier: null });
    this.#passedOver.set(model, passedOverAttempt(model, { errorCode: code, offsetMs, cost }));
  }

  /** Adds the passed-over models behind the calls: without a call there is no run. */
  #notePassedOver(): void {
    for (const attempt of this.#passedOver.values())
      this.#attempts.push({ ...attempt, number: this.#attempts.length + 1 });
  }

  async startAttempt(
    model: Model,
    { bodyBytes, maxTokens }: { bodyBytes: number; maxTokens: number | null },
  ): Promise<TraceContext> {
    const { reservation } = this.#options.admission;
    const attempt: AttemptStart = {
      id: newId(),
      number: this.#attempts.length + 1,
      provider: model.provider.name,
      model: model.id,
      upstreamModel: model.upstreamModel,
      inputTokensGuess: guessTokens(bodyBytes),
      ...(reservation.charges !== null && { reservedPico: String(reservation.reservedPico) }),
      ...this.#changedCharges(reservation),
    };
    const trace = this.#options.telemetry.within(this.#options.trace);
    this.#open = {
      start: attempt,
      model,
      trace,
      calledAt: new Date(),
      startedAt: monotonicMs(),
      accepted: false,
      firstTokenAt: null,
      reservedTokens: this.#options.bounds.outputOf(model, maxTokens),
      reservation,
    };
    try {
      await this.#options.recorder.startAttempt({
        handle: this.#handle,
        run: this.#record,
        ...{ charges: this.identity.charges, holderId: reservation.holderId },
        attempt,
        ended: this.#attempts,
      });
    } catch (error) {
      await this.endAttempt({ status: 'not_sent', usage: noUsage });
      // The start may have been written, so an end follows it. The client does not wait for it.
      void this.finish('error', { error: toAppError(error) });
      throw error;
    }
    this.#open.startedAt = monotonicMs();
    return trace;
  }

  /** The charges of the next call where they differ from those of the one before, as after midnight. */
  #changedCharges({ charges }: Reservation): Pick<AttemptStart, 'charges'> {
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
      ...this.#priced(open, usage, outcome),
    };
    // A later call gets results of tools with the prompt.
    const isFirst = outcome.status === 'ok' && this.#attempts.every(({ status }) => status !== 'ok');
    this.#attempts.push(attempt);
    open.reservation.spend({
      tokens: usage.inputTokens + usage.outputTokens,
      costPico: chargeOf(attempt),
    });
    if (attempt.status === 'not_sent') return;
    if (isFirst && isCount(usage)) this.#options.notePrompt?.(open.model, usage.inputTokens);
    this.#observed(() =>
      this.#options.telemetry.attemptEnded({ ...open, run: this.identity, attempt, endedAt }),
    );
  }

  /** The usage of an attempt. If it can't be estimated, the size of the request counts: the attempt is recorded in any case. */
  #usageOf(outcome: AttemptOutcome, open: OpenAttempt): Usage | Promise<Usage> {
    const { tenantId, operation, streamed } = this.identity;
    const prompt = (): TextSample => this.#promptSample();
    const request = { tenantId, operation, streamed, prompt, bounds: this.#options.bounds };
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

  /** Without a price, or where it can't be computed, at least the reservation is charged. */
  #priced(
    { model, calledAt: at, reservation: { reservedPico } }: OpenAttempt,
    usage: Usage,
    { serviceTier = null, status }: AttemptOutcome,
  ): Pick<Attempt, 'cost' | 'chargePico'> {
    const brokeOff = status !== 'ok';
    const call = { operation: this.identity.operation, at, serviceTier };
    try {
      const cost = this.#options.pricing.costOf(model, usage, call);
      const toolsCost = this.#options.pricing.toolsCost(
        model,
        uncountedTools(this.#options.feeTools, usage, { brokeOff }),
        at,
      );
      if (cost !== null)
        return { cost, ...(toolsCost > 0n && { chargePico: cappedPico(cost.costPico + toolsCost) }) };
      const known = this.#options.pricing.chargeOf(model, usage, call);
      return { cost, chargePico: chargeFor({ cost, known }, reservedPico) };
    } catch (err) {
      this.#options.log.error({ err, run_id: this.identity.id }, 'failed to price a provider call');
      return { cost: null, chargePico: reservedPico };
    }
  }

  /** Metrics and spans do not keep a run from ending. */
  #observed(observe: () => void): void {
    try {
      observe();
    } catch (err) {
      this.#options.log.error({ err, run_id: this.identity.id }, 'failed to observe a run');
    }
  }

  /** Ends the call under way with a failure. Errors, unsent and unanswered calls cost nothing; cut and abandoned ones do. */
  failAttempt(
    failure: ProviderFailure,
    answer: Omit<MeteredAnswer, 'responseModel'> | null,
    generated: number,
  ): void | Promise<void> {
    const free = isFree(failure) || (failure.kind === 'connection' && this.#open?.accepted !== true);
    return this.endAttempt({
      status: attemptStatusOf(failure),
      httpStatus: failure.details.status ?? null,
      errorCode: attemptErrorOf(failure),
      usage: answer?.usage ?? (free ? noUsage : null),
      serviceTier: answer?.serviceTier ?? null,
      answer: answer?.answer,
      generated,
    });
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
    if (this.#finished || (this.#open === null && this.#attempts.length === 0)) return null;
    this.#finished = true;
    if (this.#open !== null)
      await this.endAttempt({ status: 'error', errorCode: error?.code ?? null, usage: null });
    this.#notePassedOver();
    const last = this.#attempts.findLast((attempt) => attempt.status !== 'not_sent') ?? this.#attempts.at(-1);
    const preview =
      this.#options.previewChars > 0
        ? cutText(this.#answer?.beginning ?? '', this.#options.previewChars)
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
      usage: sumUsage(this.#attempts.map((attempt) => attempt.usage)),
      cost: sumCosts(this.#attempts.map((attempt) => attempt.cost)),
      chargePico: this.costPico,
      ...{ errorType: null, errorMessage: null },
      ...(error !== undefined && runErrorOf(error)),
      ...(status === 'interrupted' && interruption),
      outputPreview: preview === '' ? null : preview,
      tools: this.#tools,
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
