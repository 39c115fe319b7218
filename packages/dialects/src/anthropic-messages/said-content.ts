import { isFields, type Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import type { AssistantMessage, ToolCall } from '../dialect.ts';
import { RawJson, writeJson, type JsonSource } from '../wire/json-text.ts';
import { argumentsObjects } from '../tool-arguments.ts';

/** A block, and the input of a call as it was written; empty where the block has it. */
export interface WrittenBlock {
  fields: Fields;
  json: string;
}

/** More than any model asks for at once. */
export const maxCalls = 128;

/** The content of a model's message. */
export class SaidContent implements AssistantMessage {
  /** As it was said. */
  readonly blocks: readonly Fields[];
  readonly calls: readonly ToolCall[];

  private constructor(blocks: readonly Fields[], calls: readonly ToolCall[]) {
    this.blocks = blocks;
    this.calls = calls;
  }

  /** Throws at too many calls. */
  static of(written: readonly WrittenBlock[]): SaidContent {
    const called = written.filter(({ fields }) => isCall(fields));
    if (called.length > maxCalls) throw new Error('the answer has too many calls of tools');
    const texts = called.map(({ fields: { input }, json }) =>
      json === '' && input !== undefined ? writeJson(input) : json,
    );
    const objects = argumentsObjects(texts);
    const calls = called.map(({ fields: { id, name } }, index) => ({
      ...{ id: textOf(id), name: textOf(name) },
      ...{ argumentsText: texts[index] ?? '', argumentsJson: objects[index] ?? null },
    }));
    const inputs = new Map(called.map((block, index) => [block, calls[index]?.argumentsJson ?? '{}']));
    const blocks = written.map((block) => {
      // Tools of the provider have inputs in pieces too.
      const input =
        inputs.get(block) ?? (block.json === '' ? null : (argumentsObjects([block.json])[0] ?? null));
      return input === null ? block.fields : { ...block.fields, input: new RawJson(input) };
    });
    return new SaidContent(blocks, calls);
  }

  /** The same for an answer that stopped for this reason: calls of one that broke off are not to be made. */
  stopped(reason: unknown): SaidContent {
    return brokenOff.has(reason) ? new SaidContent(this.blocks, []) : this;
  }

  /** Reasoning is signed by the vendor of the model. */
  get isSigned(): boolean {
    return this.blocks.some(isSigned);
  }

  identified(used: Set<string>): SaidContent {
    if (this.calls.length === 0) return this;
    const calls = this.calls.map((call) => {
      const isGood = /^[\w-]{1,64}$/.test(call.id) && !used.has(call.id);
      const id = isGood ? call.id : `toolu_${newId().replaceAll('-', '')}`;
      used.add(id);
      return { ...call, id };
    });
    let place = 0;
    const blocks = this.blocks.map((block) => {
      if (!isCall(block)) return block;
      const { id } = calls[place] ?? {};
      place += 1;
      return { ...block, id };
    });
    return new SaidContent(blocks, calls);
  }

  /** Without empty texts, which are refused in requests. Thoughts stay as they are, since they are signed. */
  get text(): string {
    const content = this.blocks.filter(({ type, text }) => type !== 'text' || textOf(text).trim() !== '');
    return writeJson({ role: 'assistant', content });
  }

  /** One message: each call must have its result in the message right after it. */
  resultTexts(results: readonly string[]): string[] {
    const content = this.calls.map(({ id }, index) => ({
      ...{ type: 'tool_result', tool_use_id: id, content: results[index] ?? '' },
    }));
    return [JSON.stringify({ role: 'user', content })];
  }
}

const brokenOff = new Set<unknown>(['max_tokens', 'refusal', 'model_context_window_exceeded']);

/** Whether a block of a content goes back to the vendor alone that made it. */
export function isSigned({ type }: Fields): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** The name of a called tool; empty where it is none. */
export function nameOf(block: Fields): string {
  return textOf(block['name']);
}

/** Whether a block is a call of a tool that the client, or the gateway, has. */
export function isCall(block: unknown): block is Fields {
  return isFields(block) && block['type'] === 'tool_use';
}

/** A block with the input of its call as it is written: parsing and writing it again would change big numbers. */
export function exactInput(block: unknown, sourceOf: () => JsonSource | null): unknown {
  if (!isCall(block) || !isFields(block['input']) || Object.keys(block['input']).length === 0) return block;
  const input = sourceOf()?.textOf('input') ?? null;
  return input === null ? block : { ...block, input: new RawJson(input) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
