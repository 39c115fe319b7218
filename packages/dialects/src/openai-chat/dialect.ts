import { chatIds } from '../translation/call-ids.ts';
import { chatPairs } from '../paired-history.ts';
import type { Dialect, ServiceFormat } from '../dialect.ts';
import { ChunkReader } from './chunk-reader.ts';
import { readEmbeddings } from './embeddings-answer.ts';
import { ChatAnswerBuilder, streamFrames } from './response-mode.ts';
import { plainAnswer } from './message-text.ts';
import { parseError } from '../provider-errors.ts';
import { readRequest } from './request.ts';
import { texts } from './text-rules.ts';
import { ChunkRefusalWriter } from './refusal-writer.ts';
import { WholeToolAnswers, ChunkToolStream } from './tool-stream.ts';
import { readWhole } from './whole-answer.ts';

const paths = { embeddings: '/embeddings', moderations: '/moderations' };

/** OpenAI's chat completions, embeddings and moderations, as clients send them and servers imitate them. */
export const openAiChatDialect = {
  name: 'chat',
  readRequest,
  texts,
  conversation: { messages: ['messages', 'input'], instructions: ['instructions'] },
  pathOf: ({ operation }) =>
    operation === 'embeddings' || operation === 'moderations' ? paths[operation] : '/chat/completions',
  signatures: null,
  reasonsUnasked: true,
  // An agent's parameters have its names.
  unsupportedDefaults: () => [],
  toolText: ({ name, description, schemaJson }) =>
    `{"type":"function","function":{"name":${JSON.stringify(name)},"description":${JSON.stringify(description)},"parameters":${schemaJson}}}`,
  // Servers in imitation of it have several shapes, as vLLM's `detail`.
  isError: () => true,
  history: { list: 'messages', ids: chatIds, pairs: chatPairs, textType: 'text' },
  parseError,
  readWhole,
  streamFrames,
  answerBuilder: () => new ChatAnswerBuilder(),
  streamReader: (choices: number, keepsText?: boolean) => new ChunkReader(choices, keepsText),
  toolAnswers: (isOwn) => new WholeToolAnswers(isOwn),
  toolStream: (sink, isOwn) => new ChunkToolStream(sink, isOwn),
  refusalWriter: (choices: number) => new ChunkRefusalWriter(choices),
  plainAnswer,
  readEmbeddings,
  keepAlive: Buffer.from(': keep-alive\n\n'),
} satisfies Dialect & ServiceFormat;
