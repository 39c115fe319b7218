import { appendTo, type Changes } from './wire/json-edits.ts';
import { named, type Member } from './wire/json-members.ts';

/** A request of an API whose `tools`, `messages` and `tool_choice` are members of its body. */
export interface AskedText {
  body: Buffer;
  members: readonly Member[];
  /** Writes a choice of tools as JSON, in place of the client's if it made one. */
  choiceText: (choice: 'auto' | 'none', toolChoice: Member | null) => string;
}

/** Changes of a request that the gateway's own tools need. */
export interface ToolRewrite {
  /** Texts of `toolText`, joined with commas, put behind the client's tools. Not empty. */
  definitions: Buffer;
  /** JSON texts, put behind the client's messages. */
  messages: readonly string[];
  /** Replaces what the client says of the choice of tools; null leaves it. */
  choice: 'auto' | 'none' | null;
}

/** Adds what the gateway's own tools need. */
export function addTools(
  { body, members, choiceText }: AskedText,
  { definitions, messages, choice }: ToolRewrite,
  { edits, added }: Changes,
): void {
  const toolMembers = named(members, 'tools');
  if (toolMembers.length === 0) added.push(['"tools":[', definitions, ']']);
  for (const member of toolMembers) appendTo(body, member, definitions, edits);
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
