import { messagesIds } from '../translation/call-ids.ts';
import { blockPairs } from '../paired-history.ts';
import type { Dialect } from '../dialect.ts';
import { unsupportedInAnthropic } from './request-rewrite.ts';
import { parseError } from '../provider-errors.ts';
import { EventReader } from './stream.ts';
import { MessageAnswerBuilder, streamFrames } from './response-mode.ts';
import { readRequest } from './request.ts';
import { texts } from './text-rules.ts';
import { MessageRefusalWriter } from './refusal-writer.ts';
import { MessageToolAnswers } from './tools.ts';
import { MessageToolStream } from './tools.ts';
import { readWhole } from './response.ts';

/** Anthropic's messages. */
export const anthropicMessagesDialect = {
  name: 'messages',
  readRequest,
  texts,
  conversation: { messages: ['messages'], instructions: ['system'] },
  pathOf: ({ operation }) => (operation === 'count' ? '/v1/messages/count_tokens' : '/v1/messages'),
  signatures: {
    vendor: 'anthropic',
    readers: /(?:^|\.)anthropic\.com$/,
    // `data` stands as the writers of JSON space it.
    members: ['"signature"', '"data":"', '"data": "'].map((member) => Buffer.from(member)),
  },
  reasonsUnasked: false,
  unsupportedDefaults: unsupportedInAnthropic,
  toolText: ({ name, description, schemaJson }) =>
    `{"name":${JSON.stringify(name)},"description":${JSON.stringify(description)},"input_schema":${schemaJson}}`,
  history: { list: 'messages', ids: messagesIds, pairs: blockPairs, textType: 'text' },
  parseError,
  readWhole,
  streamFrames,
  answerBuilder: () => new MessageAnswerBuilder(),
  streamReader: (_choices: number, keepsText?: boolean) => new EventReader(keepsText),
  toolAnswers: (isOwn) => new MessageToolAnswers(isOwn),
  toolStream: (sink, isOwn) => new MessageToolStream(sink, isOwn),
  refusalWriter: () => new MessageRefusalWriter(),
  counts: {
    isCount: ({ input_tokens: tokens }) => typeof tokens === 'number',
    answerWith: (tokens) => ({ input_tokens: tokens }),
  },
  keepAlive: Buffer.from('event: ping\ndata: {"type": "ping"}\n\n'),
} satisfies Dialect;
