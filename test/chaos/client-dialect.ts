import type { DialectName } from '@gatehouse/contract/dialects';
import { instructionText, type Instructions } from '@gatehouse/test/provider-simulator/faults';

type Json = Record<string, unknown>;

interface Asked {
  model: string;
  stream: boolean;
  text: string;
}

/** How a client of a dialect asks, and how it reads the end of an answer. */
export interface ClientDialect {
  path(asked: Asked): string;
  keyHeader(key: string): Record<string, string>;
  body(asked: Asked): Json;
  isAnswer(body: Json): boolean;
  /** The code of an error, all of whose members must be there; null for anything else. */
  errorCode(body: Json): string | null;
  /** Whether the last event ends a complete stream. */
  isEnd(last: StreamedEvent): boolean;
}

/** An event of a stream. `data`: null where it is no JSON object. */
export interface StreamedEvent {
  text: string;
  data: Json | null;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** The code of an error in OpenAI's shape; one in the words of the provider may have none. */
function openAiCode({ error }: Json): string | null {
  const members = (error ?? {}) as Json;
  const keys = ['message', 'type', 'code', 'param', 'request_id'];
  if (keys.every((key) => key in members)) return String(members['code']);
  return typeof members['message'] === 'string' && !('request_id' in members) ? 'of_provider' : null;
}

const chat: ClientDialect = {
  path: () => '/v1/chat/completions',
  keyHeader: bearer,
  body: ({ model, stream, text }) => ({ model, stream, messages: [{ role: 'user', content: text }] }),
  isAnswer: ({ object }) => object === 'chat.completion',
  errorCode: openAiCode,
  isEnd: ({ text }) => text === '[DONE]',
};

const responses: ClientDialect = {
  path: () => '/v1/responses',
  keyHeader: bearer,
  body: ({ model, stream, text }) => ({ model, stream, input: text }),
  isAnswer: ({ object, status }) => object === 'response' && status === 'completed',
  errorCode: (body) => {
    if (body['type'] !== 'response.failed') return openAiCode(body);
    const { error } = body['response'] as { error: { code: unknown } | null };
    return error === null ? null : String(error.code);
  },
  isEnd: ({ data }) => /^response\.(completed|incomplete)$/.test(String(data?.['type'])),
};

const messages: ClientDialect = {
  path: () => '/v1/messages',
  keyHeader: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  body: ({ text, ...asked }) => ({
    ...asked,
    max_tokens: 1_000,
    messages: [{ role: 'user', content: text }],
  }),
  isAnswer: ({ type }) => type === 'message',
  errorCode: ({ type, error, request_id: requestId }) => {
    const { details } = (error ?? {}) as { details?: Json };
    if (type !== 'error' || typeof requestId !== 'string' || details === undefined) return null;
    return String(details['error_code']);
  },
  isEnd: ({ data }) => data?.['type'] === 'message_stop',
};

const gemini: ClientDialect = {
  path: ({ model, stream }) =>
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  keyHeader: (key) => ({ 'x-goog-api-key': key }),
  body: ({ text }) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
  isAnswer: (body) => finishReason(body) !== undefined,
  errorCode: ({ error }) => {
    const { code, message, status, details = [] } = (error ?? {}) as Json & { details?: Json[] };
    if (typeof code !== 'number' || typeof message !== 'string' || typeof status !== 'string') return null;
    const [{ reason = status } = {}] = details as { reason?: string }[];
    return reason.toLowerCase();
  },
  isEnd: ({ data }) => data !== null && finishReason(data) !== undefined,
};

function finishReason({ candidates }: Json): unknown {
  return (candidates as Json[] | undefined)?.[0]?.['finishReason'];
}

export const clientDialects: Readonly<Record<DialectName, ClientDialect>> = {
  ...{ chat, responses, messages, gemini },
};

/** The events of a stream, without keep-alives. */
export function eventsOf(text: string): StreamedEvent[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: '));
  const events = lines.map((line) => ({ text: line.slice(6), data: parsed(line.slice(6)) }));
  return events.filter(
    ({ data }) => data === null || (data['type'] !== 'ping' && Object.keys(data).length > 0),
  );
}

export function parsed(text: string): Json | null {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

/** A question with instructions for the simulator, which reach it through every translation. */
export function question(instructions: Instructions): string {
  return `What happens when things break? ${instructionText(instructions)}`;
}
