import type { FrameSink } from '@gatehouse/dialects/dialect';
import type { RefusalWriter } from '@gatehouse/dialects/refusal-writer';
import { FrameReader, type FrameTexts } from '@gatehouse/dialects/text-view/frame-reader';
import type { UnreadablePlace } from '@gatehouse/dialects/text-view/source-text';
import type { TextChannel } from '@gatehouse/dialects/text-view/text-channel';
import { noChoice, type FrameRules } from '@gatehouse/dialects/text-view/text-rules';
import type { Usage } from '@gatehouse/dialects/usage/usage';
import type { GuardedText } from '@gatehouse/contract/guardrail-rules';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { runForTurn, runSteps, type Steps } from '@gatehouse/kit/cooperative-steps';
import type { Guardrail } from '../policies/guardrail.ts';
import type { PassingText } from './streamed-text.ts';

/** The guardrails of an answer. */
export interface AnswerChecks {
  /** A new text; null for one without checks. */
  textOf(channel: TextChannel): PassingText | null;
  /** The guardrail to end an unchecked answer; null if it goes on. */
  readonly closed: Guardrail | null;
  /** The guardrail against a place beyond reading; null if it may go on. */
  guardrailAgainst(place: UnreadablePlace): Guardrail | null;
  /** A choice has been ended by a guardrail. Returns the sentence for its reader. */
  refused(guardrail: Guardrail, on: GuardedText): string;
  /** A check has failed. */
  failed(error: unknown): void;
}

export interface GuardedStreamOptions {
  checks: AnswerChecks;
  rules: FrameRules;
  writer: RefusalWriter;
  next: FrameSink;
  /** The tenant of its turns at the event loop. */
  tenantId: string;
  /** Sets how many bytes of frames are held. Returns false for too many. */
  hold: (bytes: number) => boolean;
  /** Whether its guardrails only record: frames go on before they are checked. */
  isFlagging?: boolean;
  /** Called when no choice is left before the end of the stream. */
  onOver: () => void;
}

interface ArrivedFrame {
  frame: Buffer;
  /** Whether it is one of the last, which the client gets once the run has ended. */
  isLast: boolean;
}

interface HeldFrame extends ArrivedFrame {
  texts: FrameTexts;
}

/**
 * Passes the frames of a stream on, whole and in their order, once guardrails have decided about everything in them. A frame
 * with a part of a replaced text is rewritten. A blocked choice ends in the words of the API; the others go on.
 */
export class GuardedStream implements FrameSink {
  readonly #options: GuardedStreamOptions;
  readonly #reader: FrameReader;
  readonly #arrived: ArrivedFrame[] = [];
  /** The frame being read. */
  #current: ArrivedFrame | null = null;
  readonly #held: HeldFrame[] = [];
  readonly #texts = new Map<TextChannel, PassingText>();
  /** The guardrail to end each choice, and the kind of the text behind it. */
  readonly #blocks = new Map<number, { guardrail: Guardrail; on: GuardedText }>();
  readonly #refused = new Set<number>();
  /** Beginnings of texts, before the first frame of the text. */
  readonly #beginnings: Buffer[] = [];
  readonly #last: { frame: Buffer; passed: Buffer | null }[] = [];
  #bytes = 0;
  #state: 'checking' | 'unchecked' | 'over' = 'checking';
  #isEnding = false;
  /** The checks of more than a turn. */
  #running: Promise<void> | null = null;
  #isFull = false;
  #onDrain: (() => void) | null = null;

  constructor(options: GuardedStreamOptions) {
    this.#options = options;
    this.#reader = new FrameReader(options.rules);
  }

  /** Whether a guardrail has ended some choice. */
  get isRefused(): boolean {
    return this.#refused.size > 0;
  }

  /** Whether no choice is left, so its end is not the provider's. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  get #isChecking(): boolean {
    return this.#state === 'checking';
  }

  write(frames: readonly Buffer[]): boolean {
    if (this.#options.isFlagging === true) this.#forward(frames);
    this.#add(frames, false);
    return this.#pump();
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
    this.#options.next.onDrain(() => {
      this.#isFull = false;
      if (this.#running === null) listener();
    });
  }

  /** Decides about everything held, as at the end of all texts. `last`: the last frames, for `lastFrames`. */
  async end(last: readonly Buffer[]): Promise<void> {
    await this.#rest();
    this.#isEnding = true;
    this.#add(last, true);
    this.#pump();
    await this.#rest();
    this.#options.hold(0);
  }

  /** Nothing of the stream is wanted any more. */
  close(): void {
    this.#drop();
    this.#options.hold(0);
  }

  /** The last frames as they go on. Others than at the end have no text. */
  lastFrames(frames: readonly Buffer[]): readonly Buffer[] {
    if (this.isOver || this.#options.isFlagging === true) return frames;
    return frames.flatMap((frame) => {
      const last = this.#last.find((each) => each.frame.equals(frame));
      if (last !== undefined) return last.passed === null ? [] : [last.passed];
      const isBare = new FrameReader(this.#options.rules).read(frame).pieces.length === 0;
      return isBare || this.#state === 'unchecked' ? [frame] : [];
    });
  }

  /** The last frames of a stream ended by guardrails. */
  endFrames(usage: Usage | null, isAsked: boolean): Buffer[] {
    return this.#options.writer.endFrames(usage, isAsked);
  }

  async #rest(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  #drop(): void {
    this.#state = 'over';
    this.#held.length = 0;
    this.#arrived.length = 0;
    this.#bytes = 0;
  }

  #add(frames: readonly Buffer[], isLast: boolean): void {
    if (this.isOver) return;
    for (const frame of frames) {
      this.#bytes += frame.length;
      this.#arrived.push({ frame, isLast });
    }
  }

  /** Returns whether more frames may come. */
  #pump(): boolean {
    if (this.#running !== null) return false;
    const steps = this.#work();
    try {
      if (runForTurn(steps).done !== true) {
        const { tenantId } = this.#options;
        this.#running = runSteps(steps, (piece) => runCooperatively(tenantId, piece))
          .catch((error: unknown) => this.#fail(error))
          .then(() => this.#rested());
        return false;
      }
    } catch (error) {
      this.#fail(error);
    }
    return !this.#isFull;
  }

  #rested(): void {
    this.#running = null;
    // Frames may have come behind its last step.
    const goesOn = this.#arrived.length === 0 ? !this.#isFull : this.#pump();
    if (goesOn) this.#onDrain?.();
  }

  *#work(): Steps<void> {
    for (;;) {
      const arrived = this.#arrived.shift();
      if (arrived === undefined) break;
      if (this.#state === 'unchecked') this.#pass(arrived);
      if (!this.#isChecking) continue;
      this.#current = arrived;
      yield* this.#check(arrived);
      this.#release();
      yield;
    }
    if (this.#isEnding) yield* this.#end();
    if (this.#isChecking && !this.#options.hold(this.#bytes))
      this.#fail(new Error('too much of an answer is held by guardrails'));
  }

  *#check(arrived: ArrivedFrame): Steps<void> {
    const { writer, checks } = this.#options;
    const texts = this.#reader.read(arrived.frame);
    writer.see(arrived.frame);
    this.#held.push({ ...arrived, texts });
    this.#current = null;
    for (const { channel, value } of texts.pieces) {
      const text = this.#textOf(channel);
      if (text === null) continue;
      yield* text.push(value);
      this.#note(channel, text);
    }
    yield* this.#endTexts(texts.ends);
    for (const place of texts.unreadable) {
      const guardrail = checks.guardrailAgainst(place);
      if (guardrail !== null) this.#block(place.choice, guardrail, place.kind);
    }
  }

  *#endTexts(channels: readonly TextChannel[]): Steps<void> {
    for (const channel of channels) {
      const text = this.#textOf(channel);
      if (text === null) continue;
      yield* text.end();
      this.#note(channel, text);
    }
  }

  *#end(): Steps<void> {
    if (!this.#isChecking) return;
    yield* this.#endTexts(this.#reader.end());
    this.#release();
  }

  /** Null for a text of a kind without guardrails. */
  #textOf(channel: TextChannel): PassingText | null {
    const known = this.#texts.get(channel);
    if (known !== undefined) return known;
    const text = this.#options.checks.textOf(channel);
    if (text !== null) this.#texts.set(channel, text);
    return text;
  }

  #note({ choice, kind }: TextChannel, { blocked }: PassingText): void {
    if (blocked !== null) this.#block(choice, blocked.guardrail, kind);
  }

  #block(choice: number, guardrail: Guardrail, on: GuardedText): void {
    if (!this.#blocks.has(choice)) this.#blocks.set(choice, { guardrail, on });
  }

  /** Passes on the frames at the front with nothing undecided in them. */
  #release(): void {
    for (;;) {
      const [first] = this.#held;
      if (first === undefined || this.#waits(first) || this.isOver) return;
      this.#held.shift();
      this.#bytes -= first.frame.length;
      this.#pass(first, first.texts.rewritten());
    }
  }

  /** Whether a frame has to wait. A choice with a blocked text ends in front of it. */
  #waits({ texts }: HeldFrame): boolean {
    let waits = texts.isOpen && !this.#isEnding;
    for (const [channel, end] of texts.reach) {
      if (this.#refused.has(channel.choice) || this.#texts.get(channel)?.passes(end) !== false) continue;
      const block = this.#blocks.get(channel.choice) ?? this.#blocks.get(noChoice);
      if (block === undefined) waits = true;
      else this.#refuse(channel.choice, block);
      if (this.isOver) return false;
    }
    for (const { choice } of texts.unreadable) {
      const block = this.#blocks.get(choice);
      if (block !== undefined && !this.#refused.has(choice)) this.#refuse(choice, block);
    }
    return waits && !this.isOver;
  }

  #refuse(choice: number, { guardrail, on }: { guardrail: Guardrail; on: GuardedText }): void {
    const { writer, checks, onOver } = this.#options;
    const choices = choice === noChoice ? [...writer.open] : [choice];
    for (const each of choices) {
      if (this.#refused.has(each)) continue;
      this.#refused.add(each);
      // Only APIs with one choice have them.
      this.#beginnings.length = 0;
      const frames = writer.refuse(each, checks.refused(guardrail, on));
      for (const frame of frames) writer.left(frame);
      this.#send(frames);
    }
    this.#refused.add(choice);
    if (writer.open.length > 0) return;
    this.#drop();
    if (!this.#isEnding) onOver();
  }

  #pass({ frame, isLast }: ArrivedFrame, rewritten = frame): void {
    const { writer } = this.#options;
    const passed = this.#refused.size === 0 ? rewritten : writer.without(rewritten);
    if (passed !== null && !isLast && writer.isBeginning(passed)) {
      this.#beginnings.push(passed);
      return;
    }
    const ready = passed === null ? [] : [...this.#beginnings.splice(0), passed];
    for (const each of ready) writer.left(each);
    if (isLast) this.#last.push({ frame, passed });
    this.#send(isLast ? ready.slice(0, -1) : ready);
  }

  #send(frames: readonly Buffer[]): void {
    if (this.#options.isFlagging !== true) this.#forward(frames);
  }

  #forward(frames: readonly Buffer[]): void {
    if (frames.length > 0 && !this.#options.next.write(frames)) this.#isFull = true;
  }

  /** A check has failed: the answer ends, or goes on unchecked if all guardrails are open. */
  #fail(error: unknown): void {
    const { checks } = this.#options;
    checks.failed(error);
    const { closed } = checks;
    if (closed !== null) {
      this.#refuse(noChoice, { guardrail: closed, on: 'answer' });
      return;
    }
    this.#state = 'unchecked';
    const current = this.#current === null ? [] : [this.#current];
    const waiting = [...this.#held.splice(0), ...current, ...this.#arrived.splice(0)];
    this.#bytes = 0;
    for (const frame of waiting) this.#pass(frame);
  }
}
