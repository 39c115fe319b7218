import { answerOf, messageItem, type Fields } from './response-answers.ts';
import { message } from './translated-answers.ts';

interface Api {
  path: string;
  model: string;
  /** A request with a conversation of texts: of the client and the model in turn. */
  body: (...texts: string[]) => Fields;
  system: (text: string) => Fields;
  tools: (description: string) => Fields;
  answer: Fields;
  /** The place of the text with this number. */
  param: (index: number) => string;
  /** The error of a refusal in the API's form. */
  error: (message: string, param: string) => Fields;
}

const roles = (texts: readonly string[]) =>
  texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content }));
export const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
export const chatAnswer = {
  ...{ id: 'c', object: 'chat.completion', model: 'small', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
};

/** Requests with a conversation, and answers, in each API. */
export const apis: Record<string, Api> = {
  chat: {
    path: '/v1/chat/completions',
    model: 'small',
    body: (...texts) => ({ messages: roles(texts) }),
    system: (text) => ({
      messages: [
        { role: 'system', content: text },
        { role: 'user', content: 'Hi.' },
      ],
    }),
    tools: (description) => ({
      tools: [{ type: 'function', function: { name: 'f', description, parameters: { type: 'object' } } }],
    }),
    answer: chatAnswer,
    param: (index) => `messages[${index}].content`,
    error: (text, param) => ({
      error: { message: text, type: 'invalid_request_error', code: 'content_blocked', param },
    }),
  },
  responses: {
    path: '/v1/responses',
    model: 'gpt',
    body: (...texts) => ({ input: roles(texts), store: false }),
    system: (text) => ({ instructions: text, input: 'Hi.', store: false }),
    tools: (description) => ({
      tools: [{ type: 'function', name: 'f', description, parameters: { type: 'object' }, strict: false }],
    }),
    answer: answerOf([messageItem('Yes.')]),
    param: (index) => `input[${index}].content`,
    error: (text, param) => ({
      error: { message: text, type: 'invalid_request_error', code: 'content_blocked', param },
    }),
  },
  messages: {
    path: '/v1/messages',
    model: 'claude',
    body: (...texts) => ({ messages: roles(texts), max_tokens: 9 }),
    system: (text) => ({ system: text, messages: [{ role: 'user', content: 'Hi.' }], max_tokens: 9 }),
    tools: (description) => ({ tools: [{ name: 'f', description, input_schema: { type: 'object' } }] }),
    answer: message([{ type: 'text', text: 'Yes.' }]),
    param: (index) => `messages[${index}].content`,
    error: (text, param) => ({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: `${text} (${param})`,
        details: { error_code: 'content_blocked', param },
      },
    }),
  },
  gemini: {
    path: '/v1beta/models/gemini:generateContent',
    model: 'gemini',
    body: (...texts) => ({
      contents: texts.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'model', parts: [{ text }] })),
    }),
    system: (text) => ({
      systemInstruction: { parts: [{ text }] },
      contents: [{ role: 'user', parts: [{ text: 'Hi.' }] }],
    }),
    tools: (description) => ({ tools: [{ functionDeclarations: [{ name: 'f', description }] }] }),
    answer: {
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 },
    },
    param: (index) => `contents[${index}].parts[0].text`,
    error: (text, param) => ({
      error: {
        ...{ code: 400, message: `${text} (${param})`, status: 'INVALID_ARGUMENT' },
        details: [{ reason: 'CONTENT_BLOCKED', metadata: { param } }, {}],
      },
    }),
  },
};
