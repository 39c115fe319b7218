import { itemIds } from '../translation/call-ids.ts';
import { itemPairs } from '../paired-history.ts';
import type { Dialect } from '../dialect.ts';
import { unsupportedIn } from '../request-additions.ts';
import { parameterNames } from './request-rewrite.ts';
import { parseError } from '../provider-errors.ts';
import { EventReader } from './event-reader.ts';
import { ResponseBuilder, streamFrames } from './response-mode.ts';
import { readCompaction, readRequest } from './request.ts';
import { texts } from './text-rules.ts';
import { ResponseRefusalWriter } from './refusal-writer.ts';
import { ResponseFollower } from './response-follower.ts';
import { state } from './state.ts';
import { ResponseToolAnswers, ResponseToolStream } from './tool-stream.ts';
import { readWhole } from './whole-answer.ts';

const methods = { chat: '', embeddings: '', moderations: '', count: '/input_tokens', compact: '/compact' };

/** OpenAI's responses. Providers keep no responses: the gateway does. */
export const openAiResponsesDialect = {
  name: 'responses',
  readRequest,
  texts,
  conversation: { messages: ['input'], instructions: ['instructions'] },
  readCompaction,
  pathOf: ({ operation }) => `/responses${methods[operation]}`,
  signatures: { vendor: 'openai', readers: 'key', members: [Buffer.from('"encrypted_content"')] },
  reasonsUnasked: true,
  unsupportedDefaults: (defaults) => unsupportedIn(parameterNames, defaults),
  // Strict schemas are OpenAI's default here alone, and refuse most schemas of other APIs.
  toolText: ({ name, description, schemaJson }) =>
    `{"type":"function","name":${JSON.stringify(name)},"description":${JSON.stringify(description)},"parameters":${schemaJson},"strict":false}`,
  history: { list: 'input', ids: itemIds, pairs: itemPairs, textType: 'input_text' },
  parseError,
  readWhole,
  streamFrames,
  answerBuilder: () => new ResponseBuilder(),
  streamReader: (_choices: number, keepsText?: boolean) => new EventReader(keepsText),
  toolAnswers: (isOwn) => new ResponseToolAnswers(isOwn),
  toolStream: (sink, isOwn) => new ResponseToolStream(sink, isOwn),
  refusalWriter: () => new ResponseRefusalWriter(),
  follower: () => new ResponseFollower(),
  state,
  counts: {
    isCount: ({ input_tokens: tokens }) => typeof tokens === 'number',
    answerWith: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
  keepAlive: Buffer.from(': keep-alive\n\n'),
} satisfies Dialect;
