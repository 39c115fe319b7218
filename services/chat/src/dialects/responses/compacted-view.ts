import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { AnsweringModel, AnswerView } from '../dialect.ts';

/**
 * Shows the response that has the summary of a conversation as its own kind of answer, with the user's messages. A provider
 * of this API writes that itself.
 */
export class CompactedView implements AnswerView {
  /** The messages as JSON: the request may have much more. */
  readonly #messages: string;

  constructor(messages: readonly Fields[]) {
    this.#messages = JSON.stringify(messages.map(outputMessage));
  }

  frame(frame: Buffer): Buffer {
    return frame;
  }

  whole(bytes: Buffer, _tenantId: string, { api }: AnsweringModel): Promise<Buffer> {
    return Promise.resolve(api === 'responses' ? bytes : this.#compacted(bytes));
  }

  #compacted(response: Buffer): Buffer {
    const { id, created_at, output, usage } = JSON.parse(response.toString()) as Fields;
    const lists = [this.#messages, JSON.stringify(listOf(output))].map((list) => list.slice(1, -1));
    const items = lists.filter((list) => list !== '').join(',');
    const head = JSON.stringify({ id, object: 'response.compaction', created_at, usage }).slice(0, -1);
    return Buffer.from(`${head},"output":[${items}]}`);
  }
}

function outputMessage({ id, content, ...others }: Fields): Fields {
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : listOf(content);
  return {
    id: typeof id === 'string' ? id : `msg_${newId().replaceAll('-', '')}`,
    ...others,
    ...{ type: 'message', role: 'user', status: 'completed', content: parts.filter(isFields) },
  };
}
