import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { EventReader } from '../openai-responses/event-reader.ts';
import { readUsage } from '../usage/usage-reader.ts';
import { facts, marked } from '@gatehouse/test/translation-samples';
import { ask, translator, writtenIn } from '../../test/translating.ts';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

const toMessages = translator('responses', 'messages');
const toChat = translator('responses', 'chat');

const codex = {
  model: 'gpt-6.1',
  stream: true,
  instructions: 'You are Codex.',
  input: [
    {
      type: 'additional_tools',
      role: 'developer',
      tools: [
        {
          type: 'namespace',
          name: 'functions',
          description: '',
          tools: [
            {
              type: 'custom',
              name: 'exec',
              description: 'Runs',
              format: { type: 'grammar', syntax: 'lark', definition: 'start: X' },
            },
            { type: 'function', name: 'wait', strict: false, parameters: { type: 'object' } },
          ],
        },
        { type: 'web_search' },
      ],
    },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] },
    { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'openai-only' },
    { type: 'custom_tool_call', call_id: 'call_1', namespace: 'functions', name: 'exec', input: 'ls "a"' },
    {
      type: 'function_call',
      call_id: 'call_2',
      namespace: 'functions',
      name: 'wait',
      arguments: '{"ms":1.0}',
    },
    { type: 'custom_tool_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: 'done' }] },
    { type: 'function_call_output', call_id: 'call_2', output: 'waited' },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'low', context: 'all_turns' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'k',
  text: { verbosity: 'low' },
  client_metadata: {},
};

const answer = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', stop_reason: 'tool_use' },
  content: [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'tool_use', id: 'toolu_1', name: 'functions__exec', input: { input: 'pwd' } },
    { type: 'tool_use', id: 'toolu_2', name: 'functions__wait', input: { ms: 1 } },
  ],
  usage: { input_tokens: 3, output_tokens: 2, cache_creation: { ephemeral_1h_input_tokens: 5 } },
};

describe('a turn of Codex with a model of messages', () => {
  it('has all that it sends, its tools as functions', async () => {
    const { body, ignored } = await toMessages(codex, { name: 'claude-opus-5' });
    expect(body).toMatchObject({
      system: [{ text: 'You are Codex.' }, { text: 'Be brief.' }],
      // The thought of another vendor is missing.
      thinking: { type: 'disabled' },
      tools: [
        { name: 'functions__exec', input_schema: { required: ['input'] } },
        { name: 'functions__wait', input_schema: { type: 'object' } },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      messages: [
        { role: 'user', content: [{ text: 'Go' }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'call_1', name: 'functions__exec', input: { input: 'ls "a"' } },
            { type: 'tool_use', id: 'call_2', name: 'functions__wait', input: { ms: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: [{ text: 'done' }] },
            { type: 'tool_result', tool_use_id: 'call_2', content: [{ text: 'waited' }] },
          ],
        },
      ],
    });
    expect(ignored.toSorted()).toEqual([
      'client_metadata',
      'prompt_cache_key',
      'reasoning',
      'reasoning.context',
      'text.verbosity',
      'tools.description',
      'tools.parameters',
      'tools.web_search',
    ]);
    expect(JSON.stringify(body)).not.toContain('openai-only');
  });

  const translation = async (): Promise<ReturnType<typeof translationBetween>> => {
    const between = translationBetween('responses', 'messages', { ...facts, name: 'claude-opus-5' });
    await between.request(Pieces.from(Buffer.from(JSON.stringify(codex))), { tenantId: null });
    return between;
  };
  const output = [
    {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: marked('anthropic', 'c2ln'),
    },
    { type: 'custom_tool_call', call_id: 'toolu_1', namespace: 'functions', name: 'exec', input: 'pwd' },
    {
      type: 'function_call',
      call_id: 'toolu_2',
      namespace: 'functions',
      name: 'wait',
      arguments: '{"ms":1}',
    },
  ];

  it('is answered with its own tools, whole and streamed', async () => {
    const between = await translation();
    const whole = JSON.parse(
      writtenIn(await between.whole(Buffer.from(JSON.stringify(answer)), null)).toString(),
    ) as Fields;
    expect(whole).toMatchObject({ status: 'completed', output });
    expect(readUsage(whole['usage'])).toEqual(readUsage(answer.usage));
    const stream = between.stream();
    const frames = eventsOfMessage().flatMap((frame) => stream.frames(frame));
    const events = frames.map(
      (frame) => JSON.parse(/^data: (.*)$/m.exec(frame.toString())?.[1] ?? '{}') as Fields,
    );
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_event, index) => index));
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { output } });
    expect(events.map(({ type }) => type)).toEqual([
      ...['response.created', 'response.in_progress'],
      ...['response.output_item.added', 'response.reasoning_summary_part.added'],
      ...['response.reasoning_summary_text.delta', 'response.reasoning_summary_text.done'],
      ...['response.reasoning_summary_part.done', 'response.output_item.done'],
      ...['response.output_item.added', 'response.custom_tool_call_input.delta'],
      ...['response.custom_tool_call_input.done', 'response.output_item.done'],
      ...['response.output_item.added', 'response.function_call_arguments.delta'],
      ...['response.function_call_arguments.done', 'response.output_item.done'],
      'response.completed',
    ]);
    const reader = new EventReader();
    expect(frames.map((frame) => reader.read(frame)).at(-1)).toBe('done');
    expect(reader.usage).toEqual(readUsage(answer.usage));
  });

  it('sends the thoughts of Anthropic back to it', async () => {
    const { body } = await toMessages(
      {
        input: [
          ...ask,
          ...output,
          { type: 'custom_tool_call_output', call_id: 'toolu_1', output: 'x' },
          { type: 'function_call_output', call_id: 'toolu_2', output: 'y' },
        ],
        reasoning: { effort: 'low' },
      },
      { name: 'claude-opus-5' },
    );
    expect(body).toMatchObject({
      thinking: { type: 'adaptive' },
      messages: [{}, { content: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }, {}, {}] }, {}],
    });
  });
});

function eventsOfMessage(): Buffer[] {
  const blocks = answer.content.flatMap((block, index) => {
    const { start, delta } =
      block.type === 'thinking'
        ? { start: { ...block, thinking: '' }, delta: { type: 'thinking_delta', thinking: 'hm' } }
        : {
            start: { ...block, input: {} },
            delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
          };
    return [
      { type: 'content_block_start', index, content_block: start },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ];
  });
  const { content: _content, stop_reason, usage, ...message } = answer;
  return [
    { type: 'message_start', message: { ...message, content: [], usage } },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ].map((event) => Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
}

describe('a request for a model of responses', () => {
  it('keeps thoughts for OpenAI alone, which come encrypted', async () => {
    const { body } = await translator(
      'messages',
      'responses',
    )({
      max_tokens: 4,
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
      messages: [
        ...ask,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'own', signature: marked('openai', 'enc') },
            { type: 'thinking', thinking: 'foreign', signature: 'c2ln' },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              ...{ type: 'tool_result', tool_use_id: 'a', is_error: true },
              content: [
                { type: 'text', text: 'see' },
                { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } },
              ],
            },
          ],
        },
      ],
      tools: [{ name: 'f', input_schema: { type: 'object', properties: {} } }],
    });
    expect(body).toEqual({
      model: 'm-1',
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] },
        {
          ...{ type: 'reasoning', encrypted_content: 'enc' },
          summary: [{ type: 'summary_text', text: 'own' }],
        },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        {
          ...{ type: 'function_call_output', call_id: 'a' },
          output: [
            { type: 'input_text', text: 'Error: ' },
            { type: 'input_text', text: 'see' },
            { type: 'input_image', image_url: 'https://a.example/a.png', detail: 'auto' },
          ],
        },
      ],
      max_output_tokens: 16,
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }],
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'high' },
      store: false,
    });
  });

  it.each<[DialectName, string, Fields]>([
    ['chat', 'stop', { messages: ask, stop: 'END' }],
    ['messages', 'stop_sequences', { messages: ask, max_tokens: 1, stop_sequences: ['END'] }],
  ])('of %s is refused for %s', async (from, param, fields) => {
    await expect(translator(from, 'responses')(fields)).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param,
    });
  });
});

describe('a request of responses', () => {
  it.each([
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['background', { background: true }],
    ['tools[0].type', { tools: [{ type: 'file_search' }] }],
    ['tool_choice.type', { tool_choice: { type: 'web_search' } }],
    ['input[0].type', { input: [{ type: 'item_reference', id: 'x' }] }],
    [
      'input[0].content[0].file_id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'x' }] }] },
    ],
  ])('is refused for %s', async (param, fields) => {
    await expect(toChat({ input: 'Go', ...fields })).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param,
    });
  });
});
