import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { inputItems } from '../../dialects/responses/items.ts';
import type {
  CallPart,
  MediaPart,
  MediaSource,
  Part,
  TextPart,
  ThinkingPart,
  Turn,
} from '../conversation.ts';
import { textIn } from '../fields.ts';
import type { LeftOut } from '../left-out.ts';
import { sourceOf } from '../media.ts';
import { readMarked } from '../seals.ts';
import type { Steps } from '../steps.ts';

/** The turns of an input. Items of the model that follow one another are one turn of it, and so are results. */
export function* readInput(input: unknown, left: LeftOut): Steps<Turn[]> {
  const turns: Turn[] = [];
  for (const [index, item] of inputItems(input).entries()) {
    const turn = turnOf(item, `input[${index}]`, left);
    const last = turns.at(-1);
    const joins = turn?.role === 'assistant' || turn?.parts.every(({ kind }) => kind === 'result');
    const isSame = turn !== null && last?.role === turn.role;
    if (isSame && joins && last.parts.at(-1)?.kind !== undefined && canJoin(last, turn))
      last.parts.push(...turn.parts);
    else if (turn !== null) turns.push(turn);
    yield;
  }
  return turns;
}

/** A message of the user is no part of the results before it. */
function canJoin(last: Turn, turn: Turn): boolean {
  return turn.role === 'assistant' || last.parts.every(({ kind }) => kind === 'result');
}

function turnOf(item: Fields, at: string, left: LeftOut): Turn | null {
  const { type, role, content, call_id: callId, output } = item;
  switch (type) {
    case undefined:
    case null:
    case 'message': {
      const parts = contentParts(content, `${at}.content`, left);
      if (role === 'system' || role === 'developer') return { role: 'system', parts };
      return { role: role === 'assistant' ? 'assistant' : 'user', parts };
    }
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [callOf(item)] };
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const parts = contentParts(output, `${at}.output`, left).filter((part) => part.kind !== 'refusal');
      const result = { kind: 'result', callId: textIn(callId) ?? '', parts, isError: false } as const;
      return { role: 'user', parts: [result] };
    }
    case 'reasoning':
      return { role: 'assistant', parts: thinkingParts(item) };
    case 'additional_tools':
      return null;
    default:
      throw left.refused(`${at}.type`, `The model takes no ${String(type).slice(0, 64)} items.`);
  }
}

/** A call among the items of an input, or of an output. */
export function callOf({ type, call_id: callId, name, namespace, arguments: text, input }: Fields): CallPart {
  const isFreeform = type === 'custom_tool_call';
  return {
    kind: 'call',
    id: textIn(callId) ?? '',
    name: textIn(name) ?? '',
    argumentsText: textIn(isFreeform ? input : text) ?? '',
    isFreeform,
    namespace: textIn(namespace),
  };
}

/** The thought that an item is; nothing where it is known by its id alone. OpenAI's own content has no mark. */
export function thinkingParts(item: Fields): ThinkingPart[] {
  const text = thoughtText(item);
  const encrypted = textIn(item['encrypted_content']) ?? '';
  const own = encrypted === '' ? null : { maker: 'openai', text: encrypted, isRedacted: false };
  const seal = readMarked(encrypted) ?? own;
  return text === '' && seal === null ? [] : [{ kind: 'thinking', text, seal }];
}

function thoughtText({ summary, content }: Fields): string {
  const texts = [...listOf(summary), ...listOf(content)]
    .filter(isFields)
    .map(({ text }) => textIn(text) ?? '');
  return texts.filter((text) => text !== '').join('\n\n');
}

type ContentPart = TextPart | MediaPart | Extract<Part, { kind: 'refusal' }>;

function contentParts(content: unknown, at: string, left: LeftOut): ContentPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  return listOf(content).map((part, index) => partOf(Object(part) as Fields, `${at}[${index}]`, left));
}

function partOf(part: Fields, at: string, left: LeftOut): ContentPart {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { kind: 'text', text: textIn(part['text']) ?? '' };
    case 'refusal':
      return { kind: 'refusal', text: textIn(part['refusal']) ?? '' };
    case 'input_image': {
      const { image_url: url, detail } = part;
      if (typeof url !== 'string')
        throw left.refused(`${at}.file_id`, 'Files of a provider are known to it alone.');
      if (detail !== undefined && detail !== null && detail !== 'auto') left.ignore('detail');
      return { kind: 'image', source: sourceOf(url), name: null, at };
    }
    case 'input_file':
      return { kind: 'file', source: fileOf(part, at, left), name: textIn(part['filename']), at };
    default:
      throw left.refused(`${at}.type`);
  }
}

function fileOf({ file_data: data, file_url: url }: Fields, at: string, left: LeftOut): MediaSource {
  if (typeof url === 'string') return { url };
  if (typeof data !== 'string')
    throw left.refused(`${at}.file_id`, 'Files of a provider are known to it alone.');
  const source = sourceOf(data);
  return 'url' in source ? { data, mediaType: 'application/pdf' } : source;
}
