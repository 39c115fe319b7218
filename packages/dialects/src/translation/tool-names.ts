import { isFields } from '@gatehouse/kit/fields';
import { writeJson } from '../wire/json-text.ts';
import type { CallPart, Conversation, Tool } from './conversation.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { OpenStreamCall, WrittenEvent } from './stream-events.ts';
import { fittingId } from './call-ids.ts';
import { maxWaitingChars } from '../bounds.ts';

const inputSchema =
  '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}';

/** A tool as the client has it, by its name for the provider. */
type Named = Pick<Tool, 'name' | 'namespace' | 'isFreeform'>;

/**
 * Tools of a client as functions, for APIs without groups of tools and without tools with a text as their input, which
 * becomes a function's only argument, and with fewer valid names. Calls get the client's names and kinds back.
 */
export class ToolNames {
  readonly #fits: RegExp;
  readonly #byFlat = new Map<string, Named>();

  /** `fits`: names that the provider takes, of those with up to 64 letters, digits, hyphens and underscores. */
  constructor(fits: RegExp = usualNames) {
    this.#fits = fits;
  }

  /** The conversation with functions alone. */
  *flat(conversation: Conversation): Steps<Conversation> {
    const nameOf = yield* flatNames(toolsIn(conversation), this.#fits);
    const { choice } = conversation;
    return {
      ...conversation,
      tools: conversation.tools.map((tool) => this.#flatTool(tool, nameOf(tool))),
      choice:
        typeof choice === 'object' && choice !== null ? { name: nameOf(choice), namespace: null } : choice,
      turns: conversation.turns.map((turn) => ({
        ...turn,
        parts: turn.parts.map((part) => (part.kind === 'call' ? flatCall(part, nameOf(part)) : part)),
      })),
    };
  }

  /** The client's name, group and kind of the tool in a provider's call. */
  opened(call: OpenStreamCall): OpenStreamCall {
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

  #flatTool(tool: Tool, name: string): Tool {
    if (name !== tool.name || tool.isFreeform)
      this.#byFlat.set(name, { name: tool.name, namespace: tool.namespace, isFreeform: tool.isFreeform });
    const schemaJson = tool.isFreeform ? inputSchema : tool.schemaJson;
    return { ...tool, name, namespace: null, isFreeform: false, schemaJson };
  }
}

/** All tools in a conversation: also those of calls without a definition any more. */
function* toolsIn({ tools, choice, turns }: Conversation): Generator<NamedTool> {
  yield* tools;
  if (typeof choice === 'object' && choice !== null) yield choice;
  for (const { parts } of turns) for (const part of parts) if (part.kind === 'call') yield part;
}

function flatCall(call: CallPart, name: string): CallPart {
  const argumentsText = call.isFreeform ? writeJson({ input: call.argumentsText }) : call.argumentsText;
  return { ...call, name, namespace: null, isFreeform: false, argumentsText };
}

/**
 * The description of a freeform tool. A grammar is described in it, since functions have no grammars. `path`: the
 * client's name of the format.
 */
export function freeformText(
  description: unknown,
  format: unknown,
  { dropped, path }: { dropped: DroppedFields; path: string },
): string | null {
  const names = ['type', 'grammar', 'syntax', 'definition'] as const;
  const { type, grammar, syntax, definition } = dropped.members(format ?? {}, path, names);
  const inside = dropped.members(grammar ?? {}, `${path}.grammar`, ['syntax', 'definition']);
  const rule = { syntax, definition, ...inside };
  const isGrammar = type === 'grammar' && typeof rule.definition === 'string';
  if (!isGrammar && type !== undefined && type !== 'text') dropped.ignore(`${path}.type`);
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

/** Gives the calls in a stream what the client knows of them. */
export class CallRestorer {
  readonly #names: ToolNames;
  #input: string[] | null = null;
  #chars = 0;

  constructor(names: ToolNames) {
    this.#names = names;
  }

  restored(event: WrittenEvent): WrittenEvent[] {
    if (event.type === 'open' && event.part.kind === 'call') {
      const part = this.#names.opened(event.part);
      this.#input = part.isFreeform ? [] : null;
      return [{ type: 'open', part }];
    }
    if (this.#input === null) return [event];
    if (event.type === 'delta') {
      this.#chars += event.text.length;
      if (this.#chars > maxWaitingChars)
        throw new Error('the input of a tool is too large to be put together');
      this.#input.push(event.text);
      return [];
    }
    if (event.type !== 'close') return [event];
    const text = inputIn(this.#input.join(''));
    this.#input = null;
    return text === '' || event.isCut === true ? [event] : [{ type: 'delta', text }, event];
  }
}

/** A tool by the client's name and group of it. */
type NamedTool = Pick<Tool, 'name' | 'namespace'>;

/** Most APIs take these names; some take longer ones, or dots in them. */
const usualNames = /^[\w-]{1,64}$/;
/** The characters of a name before its hash. */
const keptChars = 39;
/** The beginning of a name for an API in which names don't begin with any character. */
const prefix = 't_';

/**
 * One fitting name for each tool. A group's name is put before the name of its tool. A name that doesn't fit gets a
 * letter in front, or a hash, as does one that would be the name of two tools; fitting names stay.
 */
export function* flatNames(
  tools: Iterable<NamedTool>,
  fits: RegExp = usualNames,
): Steps<(tool: NamedTool) => string> {
  const names = new Map<string, string>();
  const joined = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const tool of tools) {
    const { name, namespace } = tool;
    const key = keyOf(tool);
    if (namespace === null && (fits.test(name) || name === '')) names.set(key, name);
    else if (!joined.has(key)) {
      const flat = namespace === null ? name : `${namespace}__${name}`;
      joined.set(key, flat);
      counts.set(flat, (counts.get(flat) ?? 0) + 1);
    }
    yield;
  }
  const taken = new Set(names.values());
  for (const [key, name] of joined) {
    const plain = fits.test(name) ? name : `${prefix}${name}`;
    const isAlone = counts.get(name) === 1 && !taken.has(plain);
    const flat = isAlone && fits.test(plain) ? plain : hashed(key, name, { taken, fits });
    names.set(key, flat);
    taken.add(flat);
    yield;
  }
  return (tool) => names.get(keyOf(tool)) ?? tool.name;
}

function keyOf({ name, namespace }: NamedTool): string {
  return JSON.stringify([namespace, name]);
}

/** The same for each request of a conversation. */
function hashed(
  key: string,
  name: string,
  { taken, fits }: { taken: ReadonlySet<string>; fits: RegExp },
): string {
  const words = name.slice(0, keptChars).replaceAll(/[^\w-]/g, '_');
  const start = fits.test(words) ? words : `${prefix}${words}`.slice(0, keptChars);
  const rule = { fits: () => false, prefix: `${start}_` };
  let again = 0;
  while (taken.has(fittingId(key, rule, again))) again += 1;
  return fittingId(key, rule, again);
}
