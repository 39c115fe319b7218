import type { Dialect } from '../dialect.ts';
import type { PathCall } from '../upstream-api.ts';
import { unsupportedIn } from '../request-additions.ts';
import { parameterNames } from './request-rewrite.ts';
import { keepAlivePart } from './content.ts';
import { parseError } from './errors.ts';
import { readCountRequest, readRequest } from './request.ts';
import { CandidateRefusalWriter } from './refusal-writer.ts';
import { texts } from './text-rules.ts';
import { streamFrames, GeminiAnswerBuilder } from './response-mode.ts';
import { frameOf, ResponseReader } from './stream.ts';
import { ContentToolAnswers, ContentToolStream } from './tools.ts';
import { readWhole } from './response.ts';

/** Google's Gemini API. */
export const geminiDialect = {
  name: 'gemini',
  readRequest,
  texts,
  conversation: {
    messages: ['contents', 'content', 'requests'],
    instructions: ['systemInstruction', 'system_instruction'],
  },
  // This version has every field of v1.
  pathOf: (call) => `/v1beta/models/${inPath(call.model)}:${methodOf(call)}`,
  methodOf,
  signatures: {
    vendor: 'google',
    readers: /\.googleapis\.com$/,
    members: ['"thoughtSignature"', '"thought_signature"'].map((member) => Buffer.from(member)),
  },
  reasonsUnasked: true,
  unsupportedDefaults: (defaults) => unsupportedIn(parameterNames, defaults),
  toolText: ({ name, description, schemaJson }) =>
    `{"name":${JSON.stringify(name)},"description":${JSON.stringify(description)},"parametersJsonSchema":${schemaJson}}`,
  parseError,
  readWhole,
  streamFrames,
  answerBuilder: () => new GeminiAnswerBuilder(),
  streamReader: (_choices: number, keepsText?: boolean) => new ResponseReader(keepsText),
  toolAnswers: (isOwn) => new ContentToolAnswers(isOwn),
  toolStream: (sink, isOwn) => new ContentToolStream(sink, isOwn),
  refusalWriter: () => new CandidateRefusalWriter(),
  counts: {
    readRequest: readCountRequest,
    isCount: ({ totalTokens }) => typeof totalTokens === 'number',
    answerWith: (tokens) => ({ totalTokens: tokens }),
  },
  // Its clients can't read comments.
  keepAlive: frameOf({ candidates: [{ content: { role: 'model', parts: [keepAlivePart] }, index: 0 }] }),
} satisfies Dialect & { methodOf: (call: PathCall) => string };

/** The method behind the name of a model. */
function methodOf({ operation, stream, isBatch }: PathCall): string {
  if (operation === 'count') return 'countTokens';
  if (operation === 'embeddings') return isBatch === true ? 'batchEmbedContents' : 'embedContent';
  // Its streams are arrays otherwise.
  return stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
}

/** Slashes are part of a model's name, and of a path. */
function inPath(model: string): string {
  return encodeURIComponent(model).replaceAll('%2F', '/').replaceAll('%3A', ':');
}
