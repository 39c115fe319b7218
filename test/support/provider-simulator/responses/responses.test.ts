import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startProviderSimulator } from '../simulator.ts';
import type { ProviderSimulator } from '../simulator.ts';
import { read } from '../test-client.ts';
import type { Seen } from '../test-client.ts';
import { callResponses, responseEventsIn, responsesBody, typesIn } from './responses-test-client.ts';

let simulator: ProviderSimulator;

beforeAll(async () => {
  simulator = await startProviderSimulator();
});

afterAll(() => simulator.close());

const ask = (input: unknown, fields: object = {}): Promise<Seen> =>
  callResponses(simulator, responsesBody(input, fields));

const look = (name: string) => ({
  ...{ type: 'function', name, description: '', strict: false },
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
});
const clock = { type: 'namespace', name: 'clock', description: '', tools: [look('sleep')] };
const exec = { type: 'custom', name: 'exec' };
const encrypted = ['reasoning.encrypted_content'];

describe('a response', () => {
  it('repeats the parameters of its request, and has the others by default', async () => {
    const asked = {
      ...{ instructions: 'Be brief.', store: false, temperature: 0.5, max_output_tokens: 100 },
      ...{ tools: [look('a')], tool_choice: 'none', parallel_tool_calls: false, metadata: { a: 'b' } },
    };
    expect(read((await ask('hi', asked)).text)).toMatchObject({
      ...asked,
      ...{ object: 'response', model: 'gpt-5.4-nano', top_p: 1, truncation: 'disabled', background: false },
      ...{ previous_response_id: null, text: { format: { type: 'text' } }, error: null },
    });
  });

  it('answers the last text of the user, behind which instructions may stand', async () => {
    const parts = ['<context>', 'Hello'].map((text) => ({ type: 'input_text', text }));
    const seen = await ask([
      { role: 'user', content: parts },
      { role: 'developer', content: 'Be brief.' },
    ]);
    expect(read(seen.text, 'output', 0, 'content', 0, 'text')).toMatch(/You said: Hello$/);
  });

  it('is a document if its format is JSON', async () => {
    const text = { format: { type: 'json_object' } };
    const seen = await ask('hi', { text });
    const document = String(read(seen.text, 'output', 0, 'content', 0, 'text'));
    expect(read(document)).toEqual({ message: 'This is the Gatehouse provider simulator. You said: hi' });
  });

  it('is charged, in the fields of chat completions, when its last event arrives', async () => {
    const fields = { x_simulator: { id: 'charged', content: 'a b' }, stream: true };
    const { text } = await ask('How many?', fields);
    const record = await simulator.waitForRequest(
      ({ id, finished_at: at }) => id === 'charged' && at !== null,
    );
    expect(record).toMatchObject({
      response_id: read(JSON.stringify(responseEventsIn(text)[0]), 'response', 'id'),
      usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
      usage_delivered: true,
      chunks_sent: 9,
    });
    await ask('hi', { ...fields, x_simulator: { id: 'cut', cut: 'before_done' } });
    const cut = await simulator.waitForRequest(({ id, finished_at: at }) => id === 'cut' && at !== null);
    expect(cut.usage_delivered).toBe(false);
  });
});

describe('reasoning', () => {
  it.each([
    [{}, ['message']],
    [{ reasoning: { effort: 'none' }, include: encrypted }, ['message']],
    [{ reasoning: { effort: 'low' } }, ['reasoning', 'message']],
    [{ include: encrypted }, ['reasoning', 'message']],
  ])('comes with %j as %j', async (fields, types) => {
    const output = read((await ask('hi', fields)).text, 'output') as { type: string }[]; // an answer has an output
    expect(output.map(({ type }) => type)).toEqual(types);
  });

  it('shows a summary and encrypted content only if asked', async () => {
    const [bare] = read((await ask('hi', { reasoning: {} })).text, 'output') as object[]; // likewise
    expect(bare).toEqual({ id: expect.stringMatching(/^rs_/), type: 'reasoning', summary: [] });
    const full = await ask('hi', { reasoning: { summary: 'auto' }, include: encrypted });
    expect(read(full.text, 'output', 0)).toMatchObject({
      summary: [{ type: 'summary_text' }],
      encrypted_content: expect.stringMatching(/./),
    });
  });
});

describe('calls', () => {
  it('are of functions, namespaces and custom tools, from the request and from items', async () => {
    const added = { type: 'additional_tools', role: 'developer', tools: [clock, exec] };
    const items = [added, { role: 'user', content: 'use a tool' }];
    const { text } = await ask(items);
    expect(read(text, 'output')).toMatchObject([
      { type: 'function_call', name: 'sleep', namespace: 'clock', arguments: '{"city":"example"}' },
      { type: 'custom_tool_call', name: 'exec', input: 'example' },
    ]);
    const one = await ask(items, { tools: [look('other')], parallel_tool_calls: false });
    expect(read(one.text, 'output')).toEqual([
      expect.objectContaining({ type: 'function_call', name: 'other', status: 'completed' }),
    ]);
    expect(read(one.text, 'output', 0)).not.toHaveProperty('namespace');
  });

  it('are of the tool that is chosen, and never of one of the provider', async () => {
    const tools = [{ type: 'web_search' }, look('a'), exec];
    const chosen = await ask('hi', { tools, tool_choice: { type: 'custom', name: 'exec' } });
    expect(read(chosen.text, 'output')).toEqual([expect.objectContaining({ name: 'exec' })]);
    const search = await ask('use a tool', { tools: [{ type: 'web_search' }] });
    expect(read(search.text, 'output', 0, 'type')).toBe('message');
  });

  it('are of the tools that the text names, with the text that it quotes', async () => {
    const asked = 'use the tool exec or sleep in `Rome or Paris`';
    const { text } = await ask(asked, { tools: [look('a'), clock, exec] });
    expect(read(text, 'output')).toMatchObject([
      { name: 'sleep', arguments: '{"city":"Rome or Paris"}' },
      { name: 'exec', input: 'Rome or Paris' },
    ]);
  });

  it('are scripted by name, with or without the namespace', async () => {
    const tool_calls = [
      { name: 'clock.sleep', arguments: { city: 'Rome' } },
      { name: 'sleep', arguments: '{}' },
      { name: 'exec', arguments: 'text("hi")' },
    ];
    const seen = await ask('hi', { tools: [clock, exec], x_simulator: { tool_calls } });
    expect(read(seen.text, 'output')).toMatchObject([
      { name: 'sleep', namespace: 'clock', arguments: '{"city":"Rome"}' },
      { name: 'sleep', namespace: 'clock', arguments: '{}' },
      { type: 'custom_tool_call', name: 'exec', input: 'text("hi")' },
    ]);
  });

  it('stream in the order of OpenAI, each item in its place', async () => {
    const fields = { tools: [look('look_up'), exec], reasoning: { summary: 'auto' }, stream: true };
    const { text } = await ask('use a tool', { ...fields, x_simulator: { thinking: 1 } });
    expect(typesIn(text)).toEqual([
      ...['response.created', 'response.in_progress', 'response.output_item.added'],
      ...['response.reasoning_summary_part.added', 'response.reasoning_summary_text.delta'],
      ...['response.reasoning_summary_text.done', 'response.reasoning_summary_part.done'],
      ...['response.output_item.done', 'response.output_item.added'],
      ...Array<string>(4).fill('response.function_call_arguments.delta'),
      ...['response.function_call_arguments.done', 'response.output_item.done', 'response.output_item.added'],
      ...Array<string>(4).fill('response.custom_tool_call_input.delta'),
      ...['response.custom_tool_call_input.done', 'response.output_item.done', 'response.completed'],
    ]);
    const events = responseEventsIn(text);
    const places = events.map(({ output_index: place }) => place).filter((place) => place !== undefined);
    expect(places).toEqual(places.toSorted());
    expect(new Set(places).size).toBe(3);
    expect(events[8]).toMatchObject({ item: { status: 'in_progress', arguments: '' } });
  });
});
