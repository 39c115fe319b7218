import type { ProviderError } from '../dialect.ts';
import type { TextSample } from '../usage/token-estimate.ts';
import { assertTranslatable } from '../wire/readable.ts';
import type { Ending } from './answer.ts';
import type { ModelFacts } from './api.ts';
import { textOf } from './fields.ts';
import { PartSequence } from './part-sequence.ts';
import type { EventSource, StreamEvent } from './stream-events.ts';

/** Reads the frames of a provider: one start, parts in sequence, and one end. */
export abstract class AnswerSource implements EventSource {
  protected readonly facts: ModelFacts;
  protected readonly sequence = new PartSequence();
  protected ending: Ending | null = null;
  protected isOver = false;
  #isBegun = false;

  constructor(facts: ModelFacts) {
    this.facts = facts;
  }

  /** See `EventSource`. */
  read(frame: Buffer): StreamEvent[] {
    assertTranslatable(frame);
    return this.isOver ? [] : this.readFrame(frame);
  }

  get held(): TextSample {
    return this.sequence.held;
  }

  end(): StreamEvent[] {
    return this.ending === null ? [] : this.finished();
  }

  /** Whether the answer seems to be whole, and its usage has not come yet. */
  abstract get awaitsUsage(): boolean;
  protected abstract readFrame(frame: Buffer): StreamEvent[];

  protected start(id: unknown, model: unknown): StreamEvent[] {
    if (this.#isBegun) return [];
    this.#isBegun = true;
    return [{ type: 'start', id: textOf(id), model: textOf(model) || this.facts.name }];
  }

  protected failed(error: ProviderError): StreamEvent[] {
    this.isOver = true;
    return [{ type: 'error', error }];
  }

  /** The end of an answer already begun; its error if the model did not complete it. */
  protected finished(): StreamEvent[] {
    if (this.isOver || !this.#isBegun) return [];
    const { stop, broken } = this.ending ?? { stop: { reason: 'end', sequence: null }, broken: null };
    if (broken !== null) return this.failed(broken);
    this.isOver = true;
    return [...this.closeAll(), { type: 'stop', stop }, { type: 'end' }];
  }

  /** Closes the open parts. */
  protected closeAll(): StreamEvent[] {
    return this.sequence.closeAll();
  }
}
