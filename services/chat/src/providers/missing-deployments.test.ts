import { describe, expect, it } from '@jest/globals';
import { absenceIn } from './missing-deployments.ts';
import type { Absence } from './provider-failure.ts';

interface Row {
  text: string;
  status?: number;
  error: unknown;
  absence: Absence | null;
  headers?: Record<string, string>;
}

const named = (message: string, more: object = {}): object => ({ error: { message, ...more } });

const rows: Row[] = [
  {
    text: 'of Azure',
    error: named('The API deployment for this resource does not exist.', { code: 'DeploymentNotFound' }),
    absence: 'certain',
  },
  {
    text: 'of OpenAI',
    error: named('The model `m-1` does not exist or you do not have access to it.', {
      code: 'model_not_found',
    }),
    absence: 'certain',
  },
  {
    text: 'of Anthropic',
    error: { type: 'error', error: { type: 'not_found_error', message: 'model: m-1' } },
    absence: 'likely',
  },
  {
    text: 'of Google, in a list',
    error: [named('models/m-1 is not found for API version v1beta.', { status: 'NOT_FOUND' })],
    absence: 'likely',
  },
  { text: 'of Ollama', error: { error: "model 'm-1' not found, try pulling it first" }, absence: 'likely' },
  {
    text: 'about a model named in a field of the request',
    error: named('The model `m-1` does not exist.', { code: 'model_not_found', param: 'tools[0].model' }),
    absence: 'likely',
  },
  {
    text: 'with words of the request',
    error: named('No route for DeploymentNotFound model_not_found m-1', { code: 'not_found' }),
    absence: 'likely',
  },
  { text: 'of a web server', error: null, absence: 'likely' },
  { text: 'of a missing route', error: { detail: 'Not Found' }, absence: 'likely' },
  {
    text: 'of Bedrock',
    error: { message: 'Model not found.' },
    headers: { 'x-amzn-errortype': 'ResourceNotFoundException:http://x' },
    absence: 'likely',
  },
  { text: 'with 410', status: 410, error: named('The model m-1 is retired.'), absence: 'likely' },
  {
    text: 'with 410 and a code',
    status: 410,
    error: named('The model m-1 is retired.', { code: 'model_decommissioned' }),
    absence: 'certain',
  },
  {
    text: 'about an earlier response',
    error: named("Previous response with id 'resp_1' not found.", { code: 'previous_response_not_found' }),
    absence: null,
  },
  {
    text: 'about an item',
    error: named("Item with id 'rs_1' not found.", { param: 'input' }),
    absence: null,
  },
  { text: 'about a file', error: named('File not found: file_1'), absence: null },
  {
    text: 'of Azure with 400',
    status: 400,
    error: named('The chatCompletion operation does not work with the specified model.', {
      code: 'OperationNotSupported',
    }),
    absence: 'likely',
  },
  {
    text: 'of Groq with 400',
    status: 400,
    error: named('The model `m-1` has been decommissioned.', { code: 'model_decommissioned' }),
    absence: 'likely',
  },
  {
    text: 'of Bedrock with 400',
    status: 400,
    error: { message: 'The provided model identifier is invalid.' },
    absence: 'likely',
  },
  {
    text: 'of Bedrock, without a profile',
    status: 400,
    error: {
      message: 'Invocation of model ID m-1 with on-demand throughput isn’t supported. Retry your request.',
    },
    absence: 'likely',
  },
  { text: 'of DeepSeek with 400', status: 400, error: named('Model Not Exist'), absence: 'likely' },
  {
    text: 'about the request',
    status: 400,
    error: named("Invalid value: 'The provided model identifier is invalid'.", { code: 'invalid_value' }),
    absence: null,
  },
  { text: 'with 500', status: 500, error: named('m-1', { code: 'model_not_found' }), absence: null },
];

describe('an error', () => {
  it.each(rows)('$text shows $absence', ({ status = 404, error, absence, headers = {} }) => {
    expect(absenceIn(status, error, headers)).toBe(absence);
  });
});
