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

export const answerModels = Object.keys(answers);
export const streamModels = Object.keys(streams);

/** The catalogue of an operator whose second provider means harm. */
export function catalogueWith(hostileUrl: string): string {
  const models = [...answerModels, ...streamModels].map(
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
  const [answer, stream] = [answers[name], streams[name]];
  const type = answer === undefined ? 'text/event-stream' : 'application/json';
  response.writeHead(200, { 'content-type': type }).end(answer?.() ?? first + (stream?.() ?? ''));
}
