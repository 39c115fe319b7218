import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { CallPart, Conversation, Tool } from './conversation.ts';
import { writeJson } from './json-text.ts';
import type { OpenCall, StreamEvent } from './stream-events.ts';

/** Longer names are refused by every API. */
const maxNameChars = 64;
const inputSchema =
  '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}';

/** A tool as the client has it, by the name that the provider gets. */
type Named = Pick<Tool, 'name' | 'namespace' | 'isFreeform'>;

/**
 * Tools of a client as functions, for APIs that know neither groups of tools nor tools whose input is a text: a group's name
 * is put before that of the tool, and a text becomes a function's only argument. Calls get back what the client knows.
 */
export class ToolNames {
  readonly #byFlat = new Map<string, Named>();

  /** The conversation with functions alone. */
  flat(conversation: Conversation): Conversation {
    const tools = conversation.tools.map((tool) => this.#flatTool(tool));
    const { choice } = conversation;
    return {
      ...conversation,
      tools,
      choice:
        typeof choice === 'object' && choice !== null
          ? { name: this.#flatName(choice), namespace: null }
          : choice,
      turns: conversation.turns.map((turn) => ({
        ...turn,
        parts: turn.parts.map((part) => (part.kind === 'call' ? this.#flatCall(part) : part)),
      })),
    };
  }

  /** The client's name, group and kind of the tool that a provider calls. */
  opened(call: OpenCall): OpenCall {
    const named = this.#byFlat.get(call.name);
    return named === undefined ? call : { ...call, ...named };
  }

  /** A provider's call as the client knows it. */
  called(call: CallPart): CallPart {
    const named = this.#byFlat.get(call.name);
    if (named === undefined) return call;
    const argumentsText = named.isFreeform ? inputIn(call.argumentsText) : call.argumentsText;
    return { ...call, ...named, argumentsText };
  }

  #flatTool(tool: Tool): Tool {
    const name = this.#flatName(tool);
    if (name !== tool.name || tool.isFreeform)
      this.#byFlat.set(name, { name: tool.name, namespace: tool.namespace, isFreeform: tool.isFreeform });
    const schemaJson = tool.isFreeform ? inputSchema : tool.schemaJson;
    return { ...tool, name, namespace: null, isFreeform: false, schemaJson };
  }

  #flatCall(call: CallPart): CallPart {
    const argumentsText = call.isFreeform ? writeJson({ input: call.argumentsText }) : call.argumentsText;
    return { ...call, name: this.#flatName(call), namespace: null, isFreeform: false, argumentsText };
  }

  #flatName({ name, namespace }: Pick<Tool, 'name' | 'namespace'>): string {
    return namespace === null ? name : `${namespace}__${name}`.slice(-maxNameChars);
  }
}

/** The description of a freeform tool. A grammar is described in it, since functions have none. */
export function freeformText(description: unknown, format: unknown): string | null {
  const { type, grammar, syntax, definition } = Object(format) as Fields;
  const rule = { syntax, definition, ...(Object(grammar) as Fields) };
  const isGrammar = type === 'grammar' && typeof rule.definition === 'string';
  const texts = [
    ...(typeof description === 'string' && description !== '' ? [description] : []),
    ...(isGrammar
      ? [`The input must match this ${String(rule.syntax)} grammar:\n${String(rule.definition)}`]
      : []),
  ];
  return texts.length === 0 ? null : texts.join('\n\n');
}

/** The text in a function's only argument. Models may write another one, or the bare text. */
function inputIn(argumentsText: string): string {
  try {
    const value: unknown = JSON.parse(argumentsText);
    if (isFields(value)) {
      const input = value['input'] ?? Object.values(value)[0];
      if (typeof input === 'string') return input;
    }
  } catch {
    // It is the input itself.
  }
  return argumentsText;
}

/** The input of a freeform tool is put together, since it comes as JSON. */
const maxInputChars = 4 * 1024 * 1024;

/** Gives the calls in a stream what the client knows of them. */
export class CallRestorer {
  readonly #names: ToolNames;
  #input: string[] | null = null;
  #chars = 0;

  constructor(names: ToolNames) {
    this.#names = names;
  }

  restored(event: StreamEvent): StreamEvent[] {
    if (event.type === 'open' && event.part.kind === 'call') {
      const part = this.#names.opened(event.part);
      this.#input = part.isFreeform ? [] : null;
      return [{ type: 'open', part }];
    }
    if (this.#input === null) return [event];
    if (event.type === 'delta') {
      this.#chars += event.text.length;
      if (this.#chars > maxInputChars) throw new Error('the input of a tool is too large to be put together');
      this.#input.push(event.text);
      return [];
    }
    if (event.type !== 'close') return [event];
    const text = inputIn(this.#input.join(''));
    this.#input = null;
    return text === '' ? [event] : [{ type: 'delta', text }, event];
  }
}
