import type { Dialect, FrameSink, StreamReader } from '@gatehouse/dialects/dialect';
import type { RefusalWriter } from '@gatehouse/dialects/refusal-writer';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import { assertReadable } from '@gatehouse/dialects/wire/readable';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import { GuardedStream, type AnswerChecks } from '../guardrails/guarded-stream.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { Model } from '../catalogue/catalogue.ts';
import type { Substitution } from '../guardrails/substitution.ts';
import type { Guardrail } from '../policies/guardrail.ts';
import type { AnswerFilter, AnswerObserver } from './turn-stage.ts';

export interface AnswerGuardOptions {
  guardrails: RunGuardrails;
  dialect: Dialect;
  tenantId: string;
  /** As many choices were requested. */
  choices: number;
  /** Whether the text of the model is kept, for memory. */
  keepsText: boolean;
  /** The usage of the run so far. */
  usage: () => Usage;
  /** Whether the client asked for the usage of a stream. */
  wantsUsage: boolean;
  /** Sets how many bytes of frames are held. Returns false for too many. */
  hold: (bytes: number) => boolean;
  /** Called when guardrails have ended a stream, so its provider has nothing more to say. */
  onOver: () => void;
  onFailed: (error: unknown) => void;
  /** Puts values in place of their placeholders; null where the answer can have none. */
  substitution: Substitution | null;
}

/**
 * The guardrails of one answer: the client, memory, previews and everything stored get what they have let pass. Then values
 * are put in place of their placeholders.
 */
export class AnswerGuard implements AnswerFilter {
  readonly #options: AnswerGuardOptions;
  readonly #reader: StreamReader;
  #stream: GuardedStream | null = null;
  #restoring: GuardedStream | null = null;
  #observer: AnswerObserver | null = null;
  readonly #held = { checking: 0, restoring: 0 };
  /** The last frames of a stream ended by guardrails. */
  #ends: readonly Buffer[] | null = null;
  /** The words of a whole answer; `null` for its provider's own. */
  #whole: { beginning: string; text: string } | null | undefined;

  constructor(options: AnswerGuardOptions) {
    this.#options = options;
    this.#reader = options.dialect.streamReader(options.choices, options.keepsText);
  }

  /** The beginning of the answer so far, for previews; null for its provider's. */
  get beginning(): string | null {
    return this.#whole === undefined ? this.#reader.answer.beginning : (this.#whole?.beginning ?? null);
  }

  /** The text of the model, cut; empty unless it is kept, and for a blocked answer. Null for its provider's. */
  get text(): string | null {
    if (!this.#options.guardrails.checksAnswers) return null;
    if (this.#options.guardrails.isAnswerBlocked) return '';
    return this.#whole === undefined ? this.#reader.keptText : (this.#whole?.text ?? null);
  }

  /** Whether the answer gets values in place of placeholders. */
  get restores(): boolean {
    return this.#options.substitution !== null;
  }

  /** Before the answer passes. */
  observe(observer: AnswerObserver): void {
    this.#observer = observer;
  }

  stream(next: FrameSink): FrameSink {
    const { dialect, tenantId, choices, onOver, guardrails, onFailed, substitution } = this.#options;
    const rules = dialect.texts.frame;
    if (substitution !== null)
      this.#restoring = new GuardedStream({
        ...{ tenantId, rules, writer: noRefusals, next, onOver: () => undefined },
        hold: (bytes) => this.#hold('restoring', bytes),
        checks: substitution.streamed(onFailed),
      });
    const seenSink = this.#seen(this.#restoring ?? next);
    if (!guardrails.checksAnswers) return seenSink;
    this.#stream = new GuardedStream({
      ...{ tenantId, onOver, rules, next: seenSink },
      hold: (bytes) => this.#hold('checking', bytes),
      checks: guardrails.answerChecks({ onFailed }),
      isFlagging: !guardrails.changesAnswers,
      writer: dialect.refusalWriter(choices),
    });
    return this.#stream;
  }

  #seen(next: FrameSink): FrameSink {
    return {
      write: (frames) => {
        this.#read(frames);
        this.#observer?.frames(frames);
        return next.write(frames);
      },
      onDrain: (listener) => next.onDrain(listener),
    };
  }

  #hold(stream: 'checking' | 'restoring', bytes: number): boolean {
    this.#held[stream] = bytes;
    return this.#options.hold(this.#held.checking + this.#held.restoring);
  }

  async end(last: readonly Buffer[]): Promise<void> {
    await this.#stream?.end(last);
    if (this.#ends !== null) return;
    if (this.isOver) this.#ends = this.#refusalEnds();
    const passed = this.#ends ?? this.#stream?.lastFrames(last) ?? last;
    this.#read(this.#ends === null ? passed : []);
    await this.#restoring?.end(passed);
  }

  lastFrames(frames: readonly Buffer[]): readonly Buffer[] {
    const passed = this.#stream?.lastFrames(frames) ?? frames;
    this.#observer?.lastFrames(passed);
    return this.#restoring?.lastFrames(passed) ?? passed;
  }

  get isOver(): boolean {
    return this.#stream?.isOver === true;
  }

  endFrames(): readonly Buffer[] {
    return this.#ends ?? this.#refusalEnds();
  }

  #refusalEnds(): readonly Buffer[] {
    const { usage, wantsUsage } = this.#options;
    return this.#stream?.endFrames(usage(), wantsUsage) ?? [];
  }

  /** The turn is over. */
  close(): void {
    this.#stream?.close();
    this.#restoring?.close();
  }

  async whole(bytes: Buffer, model: Model): Promise<Buffer> {
    const passed = this.#options.guardrails.checksAnswers ? await this.#checked(bytes) : bytes;
    await this.#observer?.whole(passed, model);
    return this.#restored(passed);
  }

  /** A whole answer that can't be read goes on with its placeholders. */
  async #restored(bytes: Buffer): Promise<Buffer> {
    const { substitution, dialect, tenantId, onFailed } = this.#options;
    if (substitution === null) return bytes;
    const restoring = substitution.documentRestored(bytes, dialect.texts.answer);
    return runSteps(restoring, cooperativeFor(bytes, tenantId)).catch((error: unknown) => {
      onFailed(error);
      return bytes;
    });
  }

  async #checked(bytes: Buffer): Promise<Buffer> {
    const { guardrails, dialect, tenantId, keepsText } = this.#options;
    const body = await this.#passed(bytes);
    this.#whole = null;
    if (body === bytes) return bytes;
    this.#whole = { beginning: '', text: '' };
    if (guardrails.isAnswerBlocked) return body;
    const { answer, text } = await dialect.readWhole(body, { tenantId, keepsText });
    this.#whole = { beginning: answer.beginning, text };
    return body;
  }

  async #passed(bytes: Buffer): Promise<Buffer> {
    const { guardrails, dialect, tenantId, onFailed } = this.#options;
    const passing = guardrails.answerPassed(bytes, dialect.texts.answer);
    const passed = await runSteps(passing, cooperativeFor(bytes, tenantId)).catch((error: unknown) => {
      const checks = guardrails.answerChecks({ onFailed });
      checks.failed(error);
      const body = checks.closed === null ? bytes : this.#withheld(checks, checks.closed);
      return { body };
    });
    return 'body' in passed ? passed.body : this.#refused(bytes, passed.blockedBy);
  }

  /** A blocked answer: each of its choices ends as in a stream. One without streams has nothing but the end. */
  async #refused(bytes: Buffer, blockedBy: Guardrail): Promise<Buffer> {
    const { guardrails, dialect, tenantId, choices, usage, onFailed } = this.#options;
    const checks = guardrails.answerChecks({ isRepeat: true, onFailed });
    const frames: Buffer[] = [];
    const stream = new GuardedStream({
      ...{ tenantId, checks, hold: () => true, onOver: () => undefined, rules: dialect.texts.frame },
      writer: dialect.refusalWriter(choices),
      next: {
        write: (passed) => {
          frames.push(...passed);
          return true;
        },
        onDrain: () => undefined,
      },
    });
    try {
      assertReadable(bytes);
      stream.write(dialect.streamFrames(bytes));
      await stream.end([]);
    } catch (error) {
      onFailed(error);
    }
    if (!stream.isRefused) return this.#withheld(checks, blockedBy);
    return this.#joined(stream.isOver ? [...frames, ...stream.endFrames(usage(), true)] : frames);
  }

  /** An answer of nothing but a refusal. */
  #withheld(checks: AnswerChecks, guardrail: Guardrail): Buffer {
    const { dialect, choices, usage } = this.#options;
    const writer = dialect.refusalWriter(choices);
    const message = checks.refused(guardrail, 'answer');
    const ends = [...writer.open].flatMap((choice) => writer.refuse(choice, message));
    return this.#joined([...ends, ...writer.endFrames(usage(), true)]);
  }

  #joined(frames: readonly Buffer[]): Buffer {
    const builder = this.#options.dialect.answerBuilder();
    for (const frame of frames) builder.add(frame);
    if (builder.built === null) throw new Error('an answer has no end');
    return builder.built;
  }

  #read(frames: readonly Buffer[]): void {
    if (!this.#options.guardrails.checksAnswers) return;
    for (const frame of frames) this.#reader.read(frame);
  }
}

/** For a stream with no end but its provider's. */
const noRefusals: RefusalWriter = {
  ...{ see: () => undefined, left: () => undefined, open: [], refuse: () => [], endFrames: () => [] },
  ...{ isBeginning: () => false, without: (frame) => frame },
};
