import type { Fields } from '@gatehouse/kit/fields';
import type { AssistantMessage, ToolCall } from '../dialect.ts';
import { argumentsText, readCalls, withNewIds } from '../tool-arguments.ts';
import type { IdRule } from '../translation/call-ids.ts';
import { calledName, isCall, isEmptyThought, isSigned } from './items.ts';

const callIds: IdRule = { fits: (id) => /^[\w-]{1,64}$/.test(id), prefix: 'call_' };

/** The output of a model. */
export class AssistantItems implements AssistantMessage {
  /** As the model wrote them. */
  readonly items: readonly Fields[];
  readonly calls: readonly ToolCall[];

  private constructor(items: readonly Fields[], calls: readonly ToolCall[]) {
    this.items = items;
    this.calls = calls;
  }

  /** Throws at too many calls. */
  static of(items: readonly Fields[]): AssistantItems {
    const calls = items.filter(isCall).map((item) => ({
      ...{ id: item['call_id'], name: calledName(item) },
      argumentsText: argumentsText(item['arguments'] ?? item['input']),
    }));
    return new AssistantItems(items, readCalls(calls));
  }

  /** The same for an answer with this status: calls of one that broke off are not to be made. */
  ended(status: unknown): AssistantItems {
    return status === 'incomplete' ? new AssistantItems(this.items, []) : this;
  }

  get isSigned(): boolean {
    return this.items.some(isSigned);
  }

  identified(used: Set<string>): AssistantItems {
    const calls = withNewIds(this.calls, used, callIds);
    let place = 0;
    const items = this.items.map((item) => {
      if (!isCall(item)) return item;
      const { id = '', argumentsJson } = calls[place] ?? {};
      place += 1;
      return { ...item, call_id: id, arguments: argumentsJson ?? '{}' };
    });
    return new AssistantItems(items, calls);
  }

  /**
   * Items as they are, joined with commas. Thoughts that say nothing to a provider which stores nothing are left out: it
   * would look for them by their ids.
   */
  get text(): string {
    return this.items
      .filter((item) => !isEmptyThought(item))
      .map((item) => JSON.stringify(item))
      .join(',');
  }

  resultTexts(results: readonly string[]): string[] {
    return this.calls.map(({ id }, index) =>
      JSON.stringify({ type: 'function_call_output', call_id: id, output: results[index] ?? '' }),
    );
  }
}
