import { appendTo, type Changes } from '../wire/json-edits.ts';
import { named, type Member } from '../wire/json-members.ts';
import type { ToolRewrite } from './dialect.ts';

/** A request of an API whose `tools`, `messages` and `tool_choice` are members of its body. */
export interface AskedText {
  body: Buffer;
  members: readonly Member[];
  /** Writes a choice of tools as JSON, in place of the client's if it made one. */
  choiceText: (choice: 'auto' | 'none', given: Member | null) => string;
}

/** Adds what the gateway's own tools need. */
export function addTools(
  { body, members, choiceText }: AskedText,
  { definitions, messages, choice }: ToolRewrite,
  { edits, added }: Changes,
): void {
  const given = named(members, 'tools');
  if (given.length === 0) added.push(['"tools":[', definitions, ']']);
  for (const member of given) appendTo(body, member, definitions, edits);
  const last = named(members, 'messages').at(-1);
  if (last !== undefined && messages.length > 0) appendTo(body, last, messages.join(','), edits);
  if (choice === null) return;
  const choices = named(members, 'tool_choice');
  for (const member of choices) {
    const { valueStart: at, valueEnd: until } = member;
    edits.push({ at, until, text: choiceText(choice, member) });
  }
  if (choices.length === 0) added.push(`"tool_choice":${choiceText(choice, null)}`);
}
