import type { Dialect, FrameSink, StreamReader } from '@gatehouse/dialects/dialect';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import { assertReadable } from '@gatehouse/dialects/wire/readable';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import { GuardedStream, type AnswerChecks } from '../guardrails/guarded-stream.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
import type { Guardrail } from '../policies/guardrail.ts';
import type { AnswerFilter } from './turn-stage.ts';

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
}

/** The guardrails of one answer: the client, memory, previews and everything stored get what they have let pass. */
export class AnswerGuard implements AnswerFilter {
  readonly #options: AnswerGuardOptions;
  readonly #reader: StreamReader;
  #stream: GuardedStream | null = null;
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
    if (this.#options.guardrails.isAnswerBlocked) return '';
    return this.#whole === undefined ? this.#reader.keptText : (this.#whole?.text ?? null);
  }

  stream(next: FrameSink): FrameSink {
    const { dialect, tenantId, choices, hold, onOver, guardrails, onFailed } = this.#options;
    this.#stream = new GuardedStream({
      ...{ tenantId, hold, onOver, rules: dialect.texts.frame },
      checks: guardrails.answerChecks({ onFailed }),
      isFlagging: !guardrails.changesAnswers,
      writer: dialect.refusalWriter(choices),
      next: {
        write: (frames) => {
          this.#read(frames);
          return next.write(frames);
        },
        onDrain: (listener) => next.onDrain(listener),
      },
    });
    return this.#stream;
  }

  async end(last: readonly Buffer[]): Promise<void> {
    if (this.#stream === null) return;
    await this.#stream.end(last);
    if (!this.#stream.isOver) this.#read(this.#stream.lastFrames(last));
  }

  lastFrames(frames: readonly Buffer[]): readonly Buffer[] {
    return this.#stream?.lastFrames(frames) ?? frames;
  }

  get isOver(): boolean {
    return this.#stream?.isOver === true;
  }

  endFrames(): readonly Buffer[] {
    const { usage, wantsUsage } = this.#options;
    return this.#stream?.endFrames(usage(), wantsUsage) ?? [];
  }

  /** The turn is over. */
  close(): void {
    this.#stream?.close();
  }

  async whole(bytes: Buffer): Promise<Buffer> {
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
    for (const frame of frames) this.#reader.read(frame);
  }
}
