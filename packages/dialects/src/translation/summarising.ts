import type { Conversation } from './conversation.ts';

/** Asks a model for the summary that replaces a conversation. */
const request = [
  'Summarise this conversation for the model that continues it.',
  'Besides what the user wrote, it will see your summary and nothing else, so include:',
  '- what the user wants, with every constraint and preference',
  '- what was done and what came of it, with the exact names, paths, commands, values and errors that matter',
  '- decisions, and the reasons for them',
  '- what is open, and the next step',
  'Write in the language of the conversation. Answer with the summary alone.',
].join('\n');

/** The conversation with a request for its summary. No tools are called; providers want those of earlier calls defined. */
export function summarising(conversation: Conversation): Conversation {
  return {
    ...conversation,
    turns: [...conversation.turns, { role: 'user', parts: [{ kind: 'text', text: request }] }],
    choice: conversation.tools.length > 0 ? 'none' : null,
    parallel: null,
    output: null,
  };
}
