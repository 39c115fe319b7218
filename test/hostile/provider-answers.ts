import type { ServerResponse } from 'node:http';

const MiB = 1024 * 1024;
const repeated = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length));
const usage = '"usage":{"prompt_tokens":1e300,"completion_tokens":-1,"total_tokens":1e12}';

/** Whole answers, by the name of the model. */
const answers: Readonly<Record<string, () => string>> = {
  numbers: () => `{"choices":[${repeated('1,', 20 * MiB)}1],${usage}}`,
  objects: () => `{"choices":[${repeated('{"a":1},', 20 * MiB)}1],${usage}}`,
  deep: () => `{"choices":${'['.repeat(10 * MiB)}${']'.repeat(10 * MiB)}}`,
  broken: () => '{',
  escapes: () => `{"choices":[{"message":{"content":"${repeated('\\"', 20 * MiB)}"}}],${usage}}`,
};

const frame = (json: string): string => `data: ${json}\n\n`;
const first = frame('{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}');

/** Streams, by the name of the model. */
const streams: Readonly<Record<string, () => string>> = {
  line: () => `data: ${'x'.repeat(20 * MiB)}`,
  lines: () => frame(repeated('\ndata:', 15 * MiB)),
  frames: () => repeated(frame('{}'), 4 * MiB),
  comments: () => repeated(':\n\n', 4 * MiB),
  'frame-numbers': () => frame(`{"a":[${repeated('1,', 15 * MiB)}1]}`),
  'frame-deep': () => frame(`{"a":${'['.repeat(7 * MiB)}${']'.repeat(7 * MiB)}}`),
  'frame-usage': () => frame(`{"choices":[],${usage}}`),
};

/** Texts that are sent as they are, by the name of the model. */
const responses: Readonly<Record<string, () => string>> = {
  headers: () => `HTTP/1.1 200 OK\r\na: ${'b'.repeat(16_000)}\r\n${'a:b\r\n'.repeat(100_000)}`,
  hints: () => 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(20_000),
  trailers: () => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${'a:b\r\n'.repeat(100_000)}`,
};

export const answerModels = Object.keys(answers);
export const responseModels = Object.keys(responses);
export const streamModels = Object.keys(streams);

/** The catalogue of an operator whose second provider means harm. */
export function catalogueWith(hostileUrl: string): string {
  const models = [...answerModels, ...streamModels, ...responseModels].map(
    (id) => `  - { id: hostile-${id}, provider: hostile }`,
  );
  return [
    'providers:',

    '  - { name: openai, kind: openai, base_url: "${OPENAI_BASE_URL}", api_key_env: OPENAI_API_KEY }',
    `  - { name: hostile, kind: openai, base_url: "${hostileUrl}", max_retries: 0 }`,
    'models:',
    '  - { id: gpt-4.1-mini, provider: openai }',
    ...models,
    '',
  ].join('\n');
}

/** Answers a request to the hostile provider. */
export function answerAsProvider(body: string, response: ServerResponse): void {
  const { model } = JSON.parse(body) as { model: string };
  const name = model.replace('hostile-', '');
  const [answer, stream, whole] = [answers[name], streams[name], responses[name]];
  if (whole !== undefined) {
    response.socket?.end(whole());
    return;
  }
  const type = answer === undefined ? 'text/event-stream' : 'application/json';
  response.writeHead(200, { 'content-type': type }).end(answer?.() ?? first + (stream?.() ?? ''));
}
