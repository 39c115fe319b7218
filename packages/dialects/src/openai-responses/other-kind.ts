import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { assertReadable } from '../wire/readable.ts';
import type { AnswerAssembler, ProviderError } from '../dialect.ts';
import { publicErrorIn, parsePublicError } from '../public-errors.ts';
import { eventOf, frameOf, isEnd, responseIn } from './events.ts';
import { ItemBuilder } from './item-builder.ts';

/** Answers of the kind that was not asked for: a whole one in place of a stream, and a stream in place of a whole one. */

/** The frames of a whole answer, as a stream would have them. Throws if it is no answer. */
export function framesOf(answer: Buffer): Buffer[] {
  const response: unknown = JSON.parse(answer.toString('utf8'));
  if (!isFields(response)) throw new Error('the answer is not an object');
  const { output, usage: _usage, ...others } = response;
  const items = listOf(output).filter(isFields);
  const isFailed = response['status'] === 'failed';
  if (!isFailed && items.length === 0 && publicErrorIn(response) !== null)
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
  const { status } = response;
  if (status === 'failed' || publicErrorIn(response) !== null) return 'response.failed';
  return status === 'incomplete' ? 'response.incomplete' : 'response.completed';
}

type Event = Fields & { type: string };

function numbered(events: readonly Event[]): Buffer[] {
  return events.map((event, sequence_number) => frameOf({ ...event, sequence_number }));
}

/** SDKs take texts and arguments from their pieces. */
function itemEvents(item: Fields, output_index: number): Event[] {
  const { begun, events } = piecesOf(item);
  const place = { output_index, item_id: item['id'] };
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...events.map((event) => ({ ...event, ...place })),
    { type: 'response.output_item.done', output_index, item },
  ];
}

function piecesOf(item: Fields): { begun: Fields; events: Event[] } {
  switch (item['type']) {
    case 'message':
      return { begun: { ...item, content: [], status: 'in_progress' }, events: contentEvents(item) };
    case 'function_call':
      return piecesOfText(item, 'arguments', 'response.function_call_arguments');
    case 'custom_tool_call':
      return piecesOfText(item, 'input', 'response.custom_tool_call_input');
    case 'reasoning':
      return { begun: { ...item, summary: [] }, events: summaryEvents(item) };
    default:
      return { begun: item, events: [] };
  }
}

function piecesOfText(item: Fields, name: string, type: string): { begun: Fields; events: Event[] } {
  const text = item[name];
  if (typeof text !== 'string') return { begun: item, events: [] };
  const { name: called } = item;
  const events = [
    { type: `${type}.delta`, delta: text },
    { type: `${type}.done`, [name]: text, ...(name === 'arguments' && { name: called }) },
  ];
  return { begun: { ...item, [name]: '', status: 'in_progress' }, events };
}

function contentEvents({ content }: Fields): Event[] {
  return listOf(content)
    .filter(isFields)
    .flatMap((part, content_index) => {
      const place = { content_index };
      const [name, type] =
        part['type'] === 'refusal' ? (['refusal', 'refusal'] as const) : (['text', 'output_text'] as const);
      const text = part[name];
      const { logprobs } = part;
      const more = name === 'text' ? { logprobs: listOf(logprobs) } : {};
      const pieces =
        typeof text !== 'string'
          ? []
          : [
              { type: `response.${type}.delta`, ...place, delta: text, ...more },
              { type: `response.${type}.done`, ...place, [name]: text, ...more },
            ];
      const begun = pieces.length === 0 ? part : { ...part, [name]: '' };
      return [
        { type: 'response.content_part.added', ...place, part: begun },
        ...pieces,
        { type: 'response.content_part.done', ...place, part },
      ];
    });
}

function summaryEvents({ summary }: Fields): Event[] {
  return listOf(summary)
    .filter(isFields)
    .flatMap((part, summary_index) => {
      const place = { summary_index };
      const text = typeof part['text'] === 'string' ? part['text'] : '';
      return [
        { type: 'response.reasoning_summary_part.added', ...place, part: { ...part, text: '' } },
        { type: 'response.reasoning_summary_text.delta', ...place, delta: text },
        { type: 'response.reasoning_summary_text.done', ...place, text },
        { type: 'response.reasoning_summary_part.done', ...place, part },
      ];
    });
}

/** Puts a whole answer together of the events of a stream. */
export class EventAssembler implements AnswerAssembler {
  #response: Fields | null = null;
  readonly #builder = new ItemBuilder();
  #error: ProviderError | null = null;
  #isOver = false;

  /** Throws if the frame is not the JSON of an object, or too large to be read at once. */
  add(frame: Buffer): void {
    assertReadable(frame);
    const event = this.#isOver || this.#error !== null ? null : eventOf(frame);
    if (event === null) return;
    const { type, fields } = event;
    const response = responseIn(fields);
    if (type === 'error') this.#error = parsePublicError(fields);
    else if (type === 'response.failed') {
      this.#response = response;
      this.#error = parsePublicError(response);
    } else if (isFields(fields['response'])) {
      this.#response = response;
      this.#isOver = isEnd(type);
    } else {
      this.#builder.add(event, frame.length);
      if (!type.startsWith('response.')) this.#error = publicErrorIn(fields);
    }
  }

  /** The answer; null if none has begun. One that broke off has an error beside its output: it is to be paid for. */
  get built(): Buffer | null {
    const response = this.#response;
    if (response === null) return this.#error && bytesOf({ error: shown(this.#error) });
    const own = listOf(response['output']);
    const output = this.#isOver && own.length > 0 ? own : [...this.#builder.built.values()];
    const cut = this.#error ?? (this.#isOver ? null : { message: 'The stream ended early.' });
    return bytesOf({
      ...response,
      output,
      ...(cut !== null && { status: 'failed', error: shown(cut) }),
    });
  }
}

function shown({ status, message, code }: ProviderError): Fields {
  return { message: message ?? 'The provider failed.', code: status ?? code ?? null };
}

function bytesOf(answer: Fields): Buffer {
  return Buffer.from(JSON.stringify(answer));
}
