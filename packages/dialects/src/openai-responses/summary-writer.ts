import type { Fields } from '@gatehouse/kit/fields';
import type { Answer } from '../translation/answer.ts';
import type { SealSummary } from '../translation/api.ts';
import type { EventWriter, WrittenEvent } from '../translation/stream-events.ts';
import { idOf, writeResponse } from './answer-writer.ts';
import { ResponseWriter } from './event-writer.ts';
import { maxWaitingChars } from '../bounds.ts';

/** The response with a summary as its only item. Throws if the model has written no summary. */
export function writeSummary(answer: Answer, seal: SealSummary): string {
  const text = answer.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  if (text.trim() === '') throw new Error('the model wrote no summary');
  return writeResponse(answer, (id) => [summaryItem(id, seal(text))]);
}

function summaryItem(id: string, sealed: string): Fields {
  return { id: `cmp_${id.slice('resp_'.length)}`, type: 'compaction', encrypted_content: sealed };
}

/** Writes the events of a response with a summary as its only item, once all of it has arrived. */
export class SummaryWriter implements EventWriter {
  readonly #seal: SealSummary;
  readonly #writer = new ResponseWriter();
  readonly #pieces: string[] = [];
  #chars = 0;
  #isText = false;
  #id = idOf('0');

  constructor(seal: SealSummary) {
    this.#seal = seal;
  }

  write(event: WrittenEvent): Buffer[] {
    switch (event.type) {
      case 'start':
        this.#id = idOf(event.id);
        return this.#writer.write(event);
      case 'open':
        this.#isText = event.part.kind === 'text';
        return [];
      case 'delta':
        if (this.#isText) this.#add(event.text);
        return [];
      case 'close':
        return [];
      case 'end':
        return this.#end();
      case 'usage':
      case 'stop':
        return this.#writer.write(event);
    }
  }

  #add(text: string): void {
    this.#chars += text.length;
    if (this.#chars > maxWaitingChars) throw new Error('the summary is too large');
    this.#pieces.push(text);
  }

  #end(): Buffer[] {
    const text = this.#pieces.join('');
    if (text.trim() === '') throw new Error('the model wrote no summary');
    return [
      ...this.#writer.writeItem(summaryItem(this.#id, this.#seal(text))),
      ...this.#writer.write({ type: 'end' }),
    ];
  }
}
