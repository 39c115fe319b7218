import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { call } from '../test-client.ts';
import { callResponses, refusalIn, responsesBody } from './responses-test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

async function refusalOf(fields: object, input: unknown = 'hi'): Promise<object> {
  return refusalIn(await callResponses(simulator, responsesBody(input, fields)));
}

const strictFormat = (schema: object): object => ({
  text: { format: { type: 'json_schema', name: 'a', strict: true, schema } },
});

describe('a Responses request is refused', () => {
  it.each([
    ['model', 'missing_required_parameter', { model: undefined }],
    ['model', 'invalid_type', { model: 5 }],
    ['input', 'missing_required_parameter', { input: undefined }],
    ['input', 'invalid_type', { input: 5 }],
    ['colour', 'unknown_parameter', { colour: 'red' }],
    ['messages', 'unsupported_parameter', { messages: [] }],
    ['max_tokens', 'unsupported_parameter', { max_tokens: 100 }],
    ['response_format', 'unsupported_parameter', { response_format: {} }],
    ['stream', 'invalid_type', { stream: 'yes' }],
    ['store', 'invalid_type', { store: 1 }],
    ['max_output_tokens', 'integer_below_min_value', { max_output_tokens: 15 }],
    ['max_output_tokens', 'invalid_type', { max_output_tokens: 16.5 }],
    ['temperature', 'decimal_above_max_value', { temperature: 2.1 }],
    ['include[1]', 'invalid_value', { include: ['reasoning.encrypted_content', 'all'] }],
    ['include', null, { model: 'gpt-4.1', include: ['reasoning.encrypted_content'] }],
    ['reasoning.effort', 'invalid_value', { reasoning: { effort: 'some' } }],
    ['reasoning.effort', 'unsupported_parameter', { model: 'gpt-4o', reasoning: { effort: 'low' } }],
    ['reasoning.budget', 'unknown_parameter', { reasoning: { budget: 5 } }],
    ['previous_response_id', 'previous_response_not_found', { previous_response_id: 'resp_1' }],
    ['stream_options', null, { stream_options: { include_obfuscation: false } }],
    ['text.format.name', 'missing_required_parameter', { text: { format: { type: 'json_schema' } } }],
    [
      'text.format.schema',
      'missing_required_parameter',
      { text: { format: { type: 'json_schema', name: 'a' } } },
    ],
    ['text.format.type', 'invalid_value', { text: { format: { type: 'xml' } } }],
    ['text.format.schema', 'invalid_json_schema', strictFormat({ type: 'object', properties: {} })],
    [
      'text.format.schema',
      'invalid_json_schema',
      strictFormat({ type: 'object', properties: { a: {} }, required: [], additionalProperties: false }),
    ],
    ['metadata.a', 'invalid_type', { metadata: { a: 1 } }],
  ])('for its %s: %s', async (param, code, fields) => {
    expect(await refusalOf(fields)).toMatchObject({ status: 400, param, code });
  });

  it('if it is no JSON object', async () => {
    for (const body of ['{"model":', '[]']) expect((await callResponses(simulator, body)).status).toBe(400);
  });
});

const lookUp = { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} } };

describe('its tools are refused', () => {
  it.each([
    ['tools', { tools: {} }],
    ['tools[0].type', { tools: [{ name: 'a' }] }],
    ['tools[0].type', { tools: [{ type: 'telepathy' }] }],
    // The shape of chat completions.
    ['tools[0].name', { tools: [{ type: 'function', function: { name: 'a' } }] }],
    ['tools[0].name', { tools: [{ ...lookUp, name: 'look up' }] }],
    ['tools[0].parameters', { tools: [{ ...lookUp, parameters: { type: 'string' } }] }],
    ['tools[0].parameters', { tools: [{ ...lookUp, strict: true }] }],
    ['tools', { tools: [lookUp, { type: 'custom', name: 'look_up' }] }],
    [
      'tools[0].format.syntax',
      { tools: [{ type: 'custom', name: 'a', format: { type: 'grammar', syntax: 'ebnf' } }] },
    ],
    ['tools[0].description', { tools: [{ type: 'namespace', name: 'a', tools: [lookUp] }] }],
    [
      'tools[0].tools[0].type',
      { tools: [{ type: 'namespace', name: 'a', description: '', tools: [{ type: 'mcp' }] }] },
    ],
    ['tool_choice', { tool_choice: 'any', tools: [lookUp] }],
    ['tool_choice', { tool_choice: 'required' }],
    ['tool_choice', { tool_choice: { type: 'function', name: 'other' }, tools: [lookUp] }],
    ['tool_choice', { tool_choice: { type: 'web_search' }, tools: [lookUp] }],
    ['tool_choice.type', { tool_choice: { type: 'tool', name: 'look_up' }, tools: [lookUp] }],
  ])('for %s', async (param, fields) => {
    expect(await refusalOf(fields)).toMatchObject({ status: 400, param });
  });

  it('in an item as in the request', async () => {
    const added = { type: 'additional_tools', role: 'developer', tools: [{ type: 'function' }] };
    expect(await refusalOf({}, [added, { role: 'user', content: 'hi' }])).toMatchObject({
      param: 'input[0].tools[0].name',
    });
  });

  it('unless they are right', async () => {
    const fields = {
      tools: [
        { ...lookUp, strict: false, description: 'a' },
        {
          type: 'custom',
          name: 'exec',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
        },
        { type: 'namespace', name: 'clock', description: '', tools: [lookUp] },
        { type: 'web_search', external_web_access: true },
      ],
      tool_choice: { type: 'web_search' },
    };
    expect((await callResponses(simulator, responsesBody('hi', fields))).status).toBe(200);
  });
});

it('answers other paths of responses as OpenAI does', async () => {
  const missing = await call(simulator, undefined, { method: 'GET', path: '/v1/responses/resp_1' });
  expect(missing.status).toBe(404);
});
