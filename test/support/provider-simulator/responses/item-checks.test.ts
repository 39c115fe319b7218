import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { read } from '../test-client.ts';
import type { Seen } from '../test-client.ts';
import type { JsonObject } from '../values.ts';
import { callResponses, refusalIn, responsesBody } from './responses-test-client.ts';

let simulator: ProviderSimulator;
let other: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
  other = await startProviderSimulator();
});

afterAll(async () => {
  await simulator.close();
  await other.close();
});

const ask = (input: unknown, fields: object = {}): Promise<Seen> =>
  callResponses(simulator, responsesBody(input, fields));

const user = { role: 'user', content: 'hi' };
const assistant = (part: object): object => ({ role: 'assistant', content: [part] });
const called = { type: 'function_call', call_id: 'call_1', name: 'look_up', arguments: '{}' };
const result = { type: 'function_call_output', call_id: 'call_1', output: 'found' };
const executed = { type: 'custom_tool_call', call_id: 'call_2', name: 'exec', input: 'ls' };
const printed = {
  type: 'custom_tool_call_output',
  call_id: 'call_2',
  output: [{ type: 'input_text', text: 'a' }],
};

describe('an item is refused', () => {
  it.each<[string, string, unknown]>([
    ['input[0]', 'invalid_type', 'hi'],
    ['input[0].type', 'missing_required_parameter', {}],
    ['input[0].type', 'invalid_value', { type: 'tool_result' }],
    ['input[0].role', 'invalid_value', { role: 'tool', content: 'hi' }],
    ['input[0].content', 'missing_required_parameter', { role: 'user' }],
    ['input[0].content', 'invalid_type', { role: 'user', content: 5 }],
    ['input[0].content[0].type', 'invalid_value', { role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    [
      'input[0].content[0].type',
      'invalid_value',
      { role: 'user', content: [{ type: 'output_text', text: 'hi' }] },
    ],
    ['input[0].content[0].type', 'invalid_value', assistant({ type: 'input_text', text: 'hi' })],
    ['input[0].content[0].text', 'missing_required_parameter', assistant({ type: 'output_text' })],
    ['input[0].id', 'invalid_value', { ...user, id: 'resp_1' }],
    ['input[0].id', 'string_above_max_length', { ...user, id: `msg_${'x'.repeat(61)}` }],
    ['input[0].call_id', 'missing_required_parameter', { ...called, call_id: undefined }],
    ['input[0].call_id', 'string_above_max_length', { ...called, call_id: 'x'.repeat(65) }],
    ['input[0].arguments', 'invalid_type', { ...called, arguments: {} }],
    ['input[0].input', 'missing_required_parameter', { ...executed, input: undefined }],
    ['input[0].output', 'missing_required_parameter', { ...result, output: undefined }],
    ['input[0].output', 'invalid_type', { ...result, output: { a: 1 } }],
    ['input[0].summary', 'missing_required_parameter', { type: 'reasoning' }],
    ['input[0].role', 'invalid_value', { type: 'additional_tools', role: 'user', tools: [] }],
  ])('for %s: %s', async (param, code, item) => {
    expect(refusalIn(await ask([item]))).toMatchObject({ status: 400, param, code });
  });

  it('if it is stored nowhere', async () => {
    const reference = { type: 'item_reference', id: 'rs_1' };
    const empty = { type: 'reasoning', id: 'rs_1', summary: [] };
    for (const item of [reference, empty]) {
      expect(refusalIn(await ask([user, item, assistant({ type: 'output_text', text: 'a' })]))).toMatchObject(
        {
          status: 404,
          message: expect.stringMatching(/^Item with id 'rs_1' not found\./),
        },
      );
    }
  });
});

describe('calls and their results', () => {
  it('are accepted in pairs, in any order of the results', async () => {
    const second = { ...called, call_id: 'call_3' };
    const items = [user, called, executed, second, printed, { ...result, call_id: 'call_3' }, result];
    const seen = await ask(items);
    expect(read(seen.text, 'output', 0, 'content', 0, 'text')).toMatch(
      /The tools said: a \| found \| found$/,
    );
  });

  it.each([
    ['No tool output found for function call call_1.', [user, called]],
    ['No tool output found for custom tool call call_2.', [user, executed, user]],
    ['No tool call found for function call output with call_id call_1.', [user, result]],
    ['No tool call found for function call output with call_id call_1.', [user, result, called]],
    ['No tool call found for custom tool call output with call_id call_2.', [user, printed]],
    // A result of the other type.
    ['No tool output found for function call call_1.', [user, called, { ...printed, call_id: 'call_1' }]],
    [
      'Duplicate item found with id msg_1. Remove duplicate items from your input and try again.',
      [
        { ...user, id: 'msg_1' },
        { ...user, id: 'msg_1' },
      ],
    ],
  ])('%s', async (message, items) => {
    expect(refusalIn(await ask(items))).toMatchObject({ status: 400, message, param: 'input' });
  });
});

describe('encrypted reasoning', () => {
  const stateless = { store: false, include: ['reasoning.encrypted_content'] };

  async function answered(from = simulator): Promise<JsonObject[]> {
    const { text } = await callResponses(from, responsesBody('hi', stateless));
    return read(text, 'output') as JsonObject[]; // an answer has an output
  }

  it('is accepted from this simulator, with its id and without', async () => {
    const [thought, message] = await answered();
    expect(thought).toMatchObject({ type: 'reasoning', encrypted_content: expect.stringMatching(/./) });
    const { id: _id, ...nameless } = thought ?? {};
    for (const item of [thought, nameless]) {
      expect((await ask([user, item, message, user], stateless)).status).toBe(200);
    }
  });

  it('is refused from another one, changed, or with the id of another item', async () => {
    const [thought, message] = await answered();
    const [foreign] = await answered(other);
    const broken = { ...thought, encrypted_content: `${String(thought?.['encrypted_content'])}x` };
    for (const item of [foreign, broken, { ...thought, id: 'rs_1' }]) {
      expect(refusalIn(await ask([user, item, message, user]))).toMatchObject({
        status: 400,
        code: 'invalid_encrypted_content',
      });
    }
  });

  it('is refused without the item that it led to', async () => {
    const [thought] = await answered();
    for (const items of [
      [user, thought],
      [user, thought, user],
      [user, called, thought, result],
    ]) {
      expect(refusalIn(await ask(items))).toMatchObject({
        status: 400,
        message: `Item '${String(thought?.['id'])}' of type 'reasoning' was provided without its required following item.`,
      });
    }
  });
});

it('compacts a conversation into an item that it accepts later', async () => {
  const seen = await ask([user, { type: 'compaction_trigger' }]);
  const [compaction] = read(seen.text, 'output') as JsonObject[]; // an answer has an output
  expect(compaction).toMatchObject({ type: 'compaction' });
  expect((await ask([compaction, user])).status).toBe(200);
  const forged = { ...compaction, encrypted_content: 'forged' };
  expect(refusalIn(await ask([forged, user]))).toMatchObject({ code: 'invalid_encrypted_content' });
});
