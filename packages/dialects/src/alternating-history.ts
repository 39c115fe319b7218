import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { openBrace, openBracket, quote } from '@gatehouse/kit/json-bytes';
import type { Edit, Text } from './wire/json-edits.ts';
import { elementsOf, named, objectMembers, type Member } from './wire/json-members.ts';

/** A message of the user: the end of its object, and its content, a text or a list with elements. */
interface UserMessage {
  end: number;
  content: Pick<Member, 'valueStart' | 'valueEnd'>;
}

/**
 * Edits by which messages of the user in a row are one, as servers want whose roles alternate
 * (https://github.com/vllm-project/vllm/issues/6862, https://github.com/anomalyco/opencode/issues/9416).
 */
export function* alternatingEdits(text: Buffer, listStart: number): Steps<Edit[]> {
  const edits: Edit[] = [];
  let row: UserMessage[] = [];
  for (const at of elementsOf(text, listStart)) {
    yield;
    const message = userMessage(text, at);
    if (message === null) {
      edits.push(...joinedRow(text, row));
      row = [];
    } else row.push(message);
  }
  edits.push(...joinedRow(text, row));
  return edits;
}

function userMessage(text: Buffer, at: number): UserMessage | null {
  if (text[at] !== openBrace) return null;
  const members = objectMembers(text, { from: at });
  const [role] = named(members, 'role').slice(-1);
  const [content] = named(members, 'content').slice(-1);
  if (role === undefined || content === undefined) return null;
  if (text.toString('latin1', role.valueStart, Math.min(role.valueEnd, role.valueStart + 8)) !== '"user"')
    return null;
  const first = text[content.valueStart];
  if (first !== quote) {
    const [part] = first === openBracket ? elementsOf(text, content.valueStart) : [];
    if (part === undefined) return null;
  }
  const end = text.indexOf('}', members.at(-1)?.valueEnd ?? at) + 1;
  return { end, content };
}

/** The content of all messages of a row in the first, and the others left out. */
function joinedRow(text: Buffer, row: readonly UserMessage[]): Edit[] {
  const [first] = row;
  if (first === undefined || row.length < 2) return [];
  const isText = row.every(({ content }) => text[content.valueStart] === quote);
  const inner = ({ content }: UserMessage): Buffer =>
    text.subarray(content.valueStart + 1, content.valueEnd - 1);
  const parts = row.flatMap((message, index): (string | Buffer)[] => {
    if (isText) return [index === 0 ? '' : String.raw`\n\n`, inner(message)];
    const between = index === 0 ? '' : ',';
    if (text[message.content.valueStart] !== quote) return [between, inner(message)];
    return [between, '{"type":"text","text":"', inner(message), '"}'];
  });
  const content: Text = isText ? ['"', ...parts, '"'] : ['[', ...parts, ']'];
  return [
    { at: first.content.valueStart, until: first.content.valueEnd, text: content },
    { at: first.end, until: row.at(-1)?.end ?? first.end, text: '' },
  ];
}
