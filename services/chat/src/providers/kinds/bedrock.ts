import { AppError } from '@gatehouse/kit/errors';
import type { Fields } from '@gatehouse/kit/fields';
import { concernsRequest, parseError } from '@gatehouse/dialects/provider-errors';
import { dialects } from '@gatehouse/dialects/dialects';
import type { ProviderError } from '@gatehouse/dialects/dialect';
import { serverSentFrame } from '@gatehouse/dialects/wire/aws-event-frames';
import { converseWords } from '@gatehouse/dialects/provider-errors';
import { named, objectMembers } from '@gatehouse/dialects/wire/json-members';
import type { Credentials } from '../credentials.ts';
import type {
  ApiCall,
  CallFormat,
  FittedBody,
  FittedCall,
  ProviderKind,
  ResponseHeaders,
  StreamSplitter,
} from '../provider-kind.ts';
import { bedrockBetas } from './bedrock-betas.ts';
import { bedrockBatch } from './bedrock-embeddings.ts';
import { BedrockStream, messagesFrame } from './bedrock-stream.ts';
import { hostedMessages } from './hosted-messages.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';

const version = 'bedrock-2023-05-31';

/**
 * Models of Amazon Bedrock: by Converse, or by InvokeModel with bodies of the model's own API
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference).
 */
export function bedrock(credentials: Credentials): ProviderKind {
  return {
    credentials,
    requestOf: (call, body) => ({
      path: `/model/${inPath(modelOf(call))}/${operationOf(call)}`,
      headers: {},
      body,
    }),
    answersOf: (call) => ({
      format: call.api === 'messages' ? messagesFormat : converseFormat,
      splitter: { contentType: 'application/vnd.amazon.eventstream', create: splitterOf(call) },
      ...(call.api === 'messages' && call.operation === 'count' && { whole: countOf }),
    }),
    fit: {
      hintsIn: 'messages',
      body: (call, body) =>
        call.api === 'messages' ? messagesBody(call, body.whole) : { body, dropped: [] },
    },
    batchOf: ({ operation, model }, body) =>
      operation === 'embeddings' ? bedrockBatch(model, body.whole) : null,
  };
}

function splitterOf({ api }: ApiCall): () => StreamSplitter {
  return () => new BedrockStream(api === 'messages' ? messagesFrame : serverSentFrame);
}

/** Models are counted by their own id, not by the id of a profile for several regions. */
function modelOf({ model, operation }: ApiCall): string {
  return operation === 'count' ? model.replace(/^[a-z-]+\.(?=(?:anthropic|amazon)\.)/, '') : model;
}

/** As signatures have it (SigV4, `UriEncode`): a model's name is one segment. */
function inPath(model: string): string {
  return encodeURIComponent(model).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function operationOf({ api, operation, stream }: ApiCall): string {
  if (operation === 'count') return 'count-tokens';
  if (operation === 'embeddings') return 'invoke';
  if (api === 'converse') return stream ? 'converse-stream' : 'converse';
  return stream ? 'invoke-with-response-stream' : 'invoke';
}

function messagesBody(call: FittedCall, request: Buffer): FittedBody | AppError {
  const counts = call.operation === 'count';
  const fitted = hostedMessages(request, call, {
    ...{ version, betas: bedrockBetas, withoutNames: ['model', 'stream'] },
    // A body to be counted must be fit for a call.
    ...(counts && { defaults: { max_tokens: String(thinkingTokens(request) + 1) } }),
  });
  if (!counts || fitted instanceof AppError) return fitted;
  const counted = `{"input":{"invokeModel":{"body":"${fitted.body.whole.toString('base64')}"}}}`;
  return { ...fitted, body: Pieces.from(Buffer.from(counted)) };
}

/** The budget for thinking, which the limit of an answer must exceed. */
function thinkingTokens(body: Buffer): number {
  const [thinking] = named(objectMembers(body), 'thinking').slice(-1);
  if (thinking === undefined) return 0;
  const inside = body.subarray(thinking.valueStart, thinking.valueEnd);
  const [budget] = named(objectMembers(inside), 'budget_tokens').slice(-1);
  const tokens =
    budget === undefined ? 0 : Number(inside.toString('latin1', budget.valueStart, budget.valueEnd));
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
}

/** Bedrock's count as Anthropic's API has it. */
function countOf(bytes: Buffer): Buffer {
  const { inputTokens } = Object(JSON.parse(bytes.toString())) as Fields;
  return Buffer.from(JSON.stringify({ input_tokens: inputTokens }));
}

/** Errors have the shape of Bedrock's own, in every API. */
const errors = {
  isError: () => false,
  parseError: bedrockWords,
  // A limit of the account has the status of a wrong request.
  statusOf: (status: number, headers: ResponseHeaders) =>
    status === 400 && errorType(headers) === 'ServiceQuotaExceededException' ? 429 : status,
} satisfies Partial<CallFormat>;

const messagesFormat: CallFormat = { ...dialects.messages, ...errors };

const converseFormat: CallFormat = {
  ...errors,
  // Its errors are translated, also those the client heals itself by.
  parseError: (body, status) => converseWords(bedrockWords(body, status)),
  streamFrames: () => {
    throw new Error('a whole answer came in place of a stream');
  },
  answerBuilder: () => {
    throw new Error('a stream came in place of a whole answer');
  },
};

function bedrockWords(body: Fields, status: number): ProviderError {
  const { message } = parseError({ message: body['message'] ?? body['Message'] });
  const isOfRequest = concernsRequest(status) || message?.includes('did not allow prompt caching') === true;
  return isOfRequest ? { message } : { isOverload: status === 503 };
}

/** The name of an exception, which may have an address behind it. */
function errorType(headers: ResponseHeaders): string {
  return String(headers['x-amzn-errortype'] ?? '').split(':', 1)[0] ?? '';
}
