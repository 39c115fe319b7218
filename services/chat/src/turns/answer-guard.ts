import type { Dialect, FrameSink, StreamReader } from '@gatehouse/dialects/dialect';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import { cooperativeFor, runSteps } from '@gatehouse/kit/cooperative-steps';
import { AppError } from '@gatehouse/kit/errors';
import { GuardedStream } from '../guardrails/guarded-stream.ts';
import type { RunGuardrails } from '../guardrails/run-guardrails.ts';
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
    const passing = guardrails.answerPassed(bytes, dialect.texts.answer);
    const passed = await runSteps(passing, cooperativeFor(bytes, tenantId));
    if (passed === bytes) {
      this.#whole = null;
      return bytes;
    }
    const body = passed ?? (await this.#refused(bytes));
    const { answer, text } = await dialect.readWhole(body, { tenantId, keepsText });
    this.#whole = { beginning: answer.beginning, text };
    return body;
  }

  /** A blocked answer: the end of each choice is the one of its stream. */
  async #refused(bytes: Buffer): Promise<Buffer> {
    const { guardrails, dialect, tenantId, choices, onFailed } = this.#options;
    const { usage } = await dialect.readWhole(bytes, { tenantId });
    const frames: Buffer[] = [];
    const stream = new GuardedStream({
      ...{ tenantId, hold: () => true, onOver: () => undefined, rules: dialect.texts.frame },
      checks: guardrails.answerChecks({ isRepeat: true, onFailed }),
      writer: dialect.refusalWriter(choices),
      next: {
        write: (passed) => {
          frames.push(...passed);
          return true;
        },
        onDrain: () => undefined,
      },
    });
    stream.write(dialect.streamFrames(bytes));
    await stream.end([]);
    const builder = dialect.answerBuilder();
    for (const frame of [...frames, ...(stream.isOver ? stream.endFrames(usage, true) : [])])
      builder.add(frame);
    const { built } = builder;
    if (!stream.isRefused || built === null)
      throw new AppError('guardrail_unavailable', 'The answer was blocked, and cannot be shown.');
    return built;
  }

  #read(frames: readonly Buffer[]): void {
    for (const frame of frames) this.#reader.read(frame);
  }
}
