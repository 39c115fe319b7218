import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import { memberRanges, smallMembers, wholeOf } from '../wire/json-parts.ts';
import type { AnswerView } from '../dialect.ts';

/**
 * Shows the response that has the summary of a conversation as its own kind of answer, with the user's messages. Providers
 * with compaction write that themselves.
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

  async whole(bytes: Buffer, tenantId: string): Promise<Buffer> {
    const members = await memberRanges(bytes, wholeOf(bytes), tenantId);
    const { object } = await smallMembers(bytes, members, { names: ['object'], tenantId });
    return object === 'response' ? this.#compacted(bytes) : bytes;
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
