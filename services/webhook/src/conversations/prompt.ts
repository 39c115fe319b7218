import { nameOf } from './quotes.ts';

/** A message for an agent. */
interface PromptMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** An earlier message of a conversation, decrypted. */
export interface HistoryMessage {
  direction: 'in' | 'out';
  senderName: string | null;
  text: string;
}

/** About as many characters as a token has. */
const charsPerToken = 4;

/** As many bytes as the texts of a history may have, in any alphabet. */
export function historyBytes(historyTokens: number): number {
  return historyTokens * charsPerToken * 3;
}

/**
 * The request to an agent: the messages of a turn after as much of the conversation as its tokens allow. In a group each
 * message begins with the name of its sender. `earlier`: newest first.
 */
export function promptOf(
  messages: readonly HistoryMessage[],
  {
    earlier,
    historyTokens,
    isGroup,
  }: { earlier: readonly HistoryMessage[]; historyTokens: number; isGroup: boolean },
): string {
  const history: PromptMessage[] = [];
  let left = historyTokens * charsPerToken;
  for (const earlierMessage of earlier) {
    const message = promptMessage(earlierMessage, isGroup);
    left -= message.content.length;
    if (left < 0) break;
    history.unshift(message);
  }
  const content = messages.map((message) => promptMessage(message, isGroup).content).join('\n');
  return JSON.stringify({ messages: [...history, { role: 'user', content }] });
}

function promptMessage({ direction, senderName, text }: HistoryMessage, isGroup: boolean): PromptMessage {
  if (direction === 'out') return { role: 'assistant', content: text };
  // Names are the sender's own too: in one line, they begin no quote.
  const name = isGroup ? nameOf(senderName) : null;
  return { role: 'user', content: name === null ? text : `${name}: ${text}` };
}
