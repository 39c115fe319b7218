import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { ProviderError } from '../dialect.ts';
import { FrameJoiner, parseAnswer } from '../response-mode.ts';
import { eventError, eventOf, frameOf, isEnd, responseError, responseIn } from './events.ts';
import { ItemBuilder } from './item-builder.ts';
import { begunItem, itemTexts, type ItemEvent } from './item-events.ts';

/** The frames of a unary response. Throws if it is no answer. */
export function streamFrames(bytes: Buffer): Buffer[] {
  const response = parseAnswer(bytes);
  const { output, usage: _usage, ...others } = response;
  const items = listOf(output).filter(isFields);
  const isFailed = response['status'] === 'failed';
  if (!isFailed && items.length === 0 && responseError(response) !== null)
    return numbered([{ ...response, type: 'error' }]);
  if (!isFailed && !Array.isArray(output)) throw new Error('the answer has no output');
  const begun = { ...others, status: 'in_progress', error: null, output: [], usage: null };
  return numbered([
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap(itemEvents),
    { type: endOf(response), response },
  ]);
}

function endOf(response: Fields): string {
  if (responseError(response) !== null) return 'response.failed';
  return response['status'] === 'incomplete' ? 'response.incomplete' : 'response.completed';
}

function numbered(events: readonly ItemEvent[]): Buffer[] {
  return events.map((event, sequence_number) => frameOf({ ...event, sequence_number }));
}

/** The events of a whole item. SDKs take texts and arguments from their deltas. */
export function itemEvents(item: Fields, output_index: number): ItemEvent[] {
  const place = { output_index, item_id: item['id'] };
  const events = itemTexts(item).flatMap((text) => [
    ...text.added,
    ...(text.value === null ? [] : [text.delta(text.value)]),
    ...text.done,
  ]);
  return [
    { type: 'response.output_item.added', output_index, item: begunItem(item) },
    ...events.map((event) => ({ ...event, ...place })),
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** Builds a unary response of events. */
export class ResponseBuilder extends FrameJoiner {
  #response: Fields | null = null;
  readonly #builder = new ItemBuilder();
  #hasEnd = false;

  protected override read(frame: Buffer): ProviderError | 'end' | null {
    const event = eventOf(frame);
    if (event === null) return null;
    const { type, fields } = event;
    const hasResponse = isFields(fields['response']);
    if (hasResponse || type === 'response.failed') this.#response = responseIn(fields);
    const error = eventError(event);
    if (error !== null) return error;
    if (!hasResponse) this.#builder.add(event, frame.length);
    this.#hasEnd = hasResponse && isEnd(type);
    return this.#hasEnd ? 'end' : null;
  }

  protected override readonly isComplete = false;

  /** Some servers repeat no items in their last event. */
  protected override get answer(): Fields | null {
    if (this.#response === null) return null;
    const repeated = listOf(this.#response['output']);
    const isRepeated = this.#hasEnd && repeated.length > 0;
    return { ...this.#response, output: isRepeated ? repeated : [...this.#builder.built.values()] };
  }

  protected override broken(answer: Fields, error: Fields): Fields {
    return { ...answer, status: 'failed', error };
  }
}
