import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { openBrace, openBracket, quote } from '@gatehouse/kit/json-bytes';
import { beginning } from './translation/framed-turns.ts';
import type { HistoryPlace } from './upstream-api.ts';
import type { Edit, Text } from './wire/json-edits.ts';
import { elementsOf, named, objectMembers, type Member } from './wire/json-members.ts';
import type { WalkedElement } from './wire/walked-elements.ts';

/** A message: its object's end, and its content, where it is a text or a list with elements to be joined. */
interface HistoryMessage {
  role: string;
  end: number;
  content: Pick<Member, 'valueStart' | 'valueEnd'> | null;
}

/** Members that two texts of the assistant lose nothing by. */
const plainNames: ReadonlySet<string> = new Set(['role', 'content', 'type', 'id', 'name', 'status']);
const emptyValues: ReadonlySet<string> = new Set(['null', '[]']);
const first = `${JSON.stringify({ role: 'user', content: beginning })},`;

/**
 * Edits for servers with alternating roles: messages of the user in a row become one, and so do texts of the assistant,
 * behind a first message of the user (https://github.com/vllm-project/vllm/issues/6862,
 * https://github.com/anomalyco/opencode/issues/9416).
 */
export function* alternatingEdits(
  text: Buffer,
  elements: readonly WalkedElement[],
  textType: HistoryPlace['textType'],
): Steps<Edit[]> {
  const edits: Edit[] = [];
  let row: HistoryMessage[] = [];
  let isBegun = false;
  for (const { at, end, isLong } of elements) {
    yield;
    const message = isLong ? null : messageAt(text, at, end);
    const role = message?.role ?? '';
    if (!isBegun && role === 'assistant') edits.push({ at, until: at, text: first });
    isBegun ||= role !== 'system' && role !== 'developer';
    if (row[0]?.role !== role || message?.content === null) {
      edits.push(...joinedRow(text, row, textType));
      row = [];
    }
    if (message !== null && message.content !== null) row.push(message);
  }
  edits.push(...joinedRow(text, row, textType));
  return edits;
}

function messageAt(text: Buffer, at: number, end: number): HistoryMessage | null {
  if (text[at] !== openBrace) return null;
  const members = objectMembers(text, { from: at });
  const [place] = named(members, 'role').slice(-1);
  if (place === undefined) return null;
  const role = text.toString(
    'latin1',
    place.valueStart + 1,
    Math.min(place.valueEnd - 1, place.valueStart + 20),
  );
  const [content] = named(members, 'content').slice(-1);
  const isJoined =
    content !== undefined &&
    (role === 'user' ? hasContent(text, content) : role === 'assistant' && isPlain(text, members, content));
  return { role, end, content: isJoined ? content : null };
}

function hasContent(text: Buffer, { valueStart }: Member): boolean {
  if (text[valueStart] === quote) return true;
  return text[valueStart] === openBracket && elementsOf(text, valueStart).next().done !== true;
}

/** Whether a message has a text, and neither calls nor reasoning. */
function isPlain(text: Buffer, members: readonly Member[], content: Member): boolean {
  const isEmpty = ({ valueStart, valueEnd }: Member): boolean =>
    valueEnd - valueStart <= 4 && emptyValues.has(text.toString('latin1', valueStart, valueEnd));
  return (
    text[content.valueStart] === quote &&
    members.every((member) => plainNames.has(member.name) || isEmpty(member))
  );
}

/** The content of all messages of a row in the first, and the others left out. */
function joinedRow(text: Buffer, row: readonly HistoryMessage[], textType: HistoryPlace['textType']): Edit[] {
  const contents = row.flatMap(({ content }) => content ?? []);
  const [head] = row;
  const [into] = contents;
  if (head === undefined || into === undefined || row.length < 2) return [];
  const isText = contents.every(({ valueStart }) => text[valueStart] === quote);
  const parts = contents.flatMap(({ valueStart, valueEnd }, index): (string | Buffer)[] => {
    const inner = text.subarray(valueStart + 1, valueEnd - 1);
    if (isText) return [index === 0 ? '' : String.raw`\n\n`, inner];
    const between = index === 0 ? '' : ',';
    if (text[valueStart] !== quote) return [between, inner];
    return [between, `{"type":"${textType}","text":"`, inner, '"}'];
  });
  const joined: Text = isText ? ['"', ...parts, '"'] : ['[', ...parts, ']'];
  return [
    { at: into.valueStart, until: into.valueEnd, text: joined },
    { at: head.end, until: row.at(-1)?.end ?? head.end, text: '' },
  ];
}
