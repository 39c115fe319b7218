import type { DialectName } from '@gatehouse/contract/dialects';
import { describe, expect, it } from '@jest/globals';
import type { Fields } from '@gatehouse/kit/fields';
import { translator } from '../../test/translating.ts';

const targets = ['chat', 'responses', 'messages', 'gemini', 'converse'] as const;
const cipher = 'Q2lwaGVy'.repeat(60);

/** Items of a history, by their client: with the words that reach another model, and the name of the hint. */
const histories: Record<DialectName, readonly (readonly [item: Fields, words: string[], named: string])[]> = {
  responses: [
    [
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'news' } },
      ['[web_search_call] type: search\nquery: news'],
      'input.web_search_call',
    ],
    [
      {
        type: 'file_search_call',
        id: 'f',
        queries: ['a b', 'c'],
        results: [{ file_id: 'f', text: 'Found.' }],
      },
      ['queries: a b c', 'Found.'],
      'input.file_search_call',
    ],
    [
      {
        ...{ type: 'code_interpreter_call', id: 'c', container_id: 'x', code: 'print(6*7)' },
        outputs: [{ type: 'logs', logs: '42' }],
      },
      ['code: print(6*7)', 'logs: 42'],
      'input.code_interpreter_call',
    ],
    [
      { type: 'mcp_call', id: 'm', server_label: 'dice', name: 'roll', arguments: '{"n":2}', output: '7' },
      ['server_label: dice', 'name: roll', 'arguments: {"n":2}', '\n7'],
      'input.mcp_call',
    ],
    [
      { type: 'mcp_list_tools', id: 'l', tools: [{ name: 'secret', input_schema: {} }] },
      [],
      'input.mcp_list_tools',
    ],
    [
      { type: 'mcp_approval_request', id: 'r', name: 'roll', arguments: '{}', server_label: 'dice' },
      ['name: roll'],
      'input.mcp_approval_request',
    ],
    [
      { type: 'mcp_approval_response', approval_request_id: 'r', approve: true },
      ['approve: true'],
      'input.mcp_approval_response',
    ],
    [{ type: 'image_generation_call', id: 'i', result: 'aWNl' }, [], 'input.image_generation_call'],
    [
      { type: 'computer_call', id: 'k', call_id: 'k', action: { type: 'click', x: 3, y: 4 } },
      ['type: click\nx: 3\ny: 4'],
      'input.computer_call',
    ],
    [
      { type: 'local_shell_call', call_id: 's', action: { type: 'exec', command: ['ls', '-l'] } },
      ['command: ls -l'],
      'input.local_shell_call',
    ],
    [
      { type: 'local_shell_call_output', call_id: 's', output: 'a.txt' },
      ['a.txt'],
      'input.local_shell_call_output',
    ],
    [
      { type: 'shell_call_output', call_id: 's', output: [{ stdout: 'b.txt', outcome: { exit_code: 0 } }] },
      ['stdout: b.txt\nexit_code: 0'],
      'input.shell_call_output',
    ],
    [
      {
        type: 'apply_patch_call',
        call_id: 'p',
        operation: { type: 'update_file', path: 'a.ts', diff: '+x' },
      },
      ['type: update_file\npath: a.ts\ndiff: +x'],
      'input.apply_patch_call',
    ],
    [
      {
        type: 'tool_search_output',
        call_id: 't',
        tools: [{ name: 'TaskStop', parameters: { type: 'object' } }],
      },
      ['name: TaskStop'],
      'input.tool_search_output',
    ],
    [{ type: 'ghost_snapshot', ghost_commit: { parent: 'abc' } }, [], 'input.ghost_snapshot'],
    [{ type: 'compaction', encrypted_content: cipher }, [], 'input.compaction'],
    [{ type: 'item_reference', id: 'rs_1' }, [], 'input.item_reference'],
    [{ type: 'future_call', id: 'x' }, [], 'input.future_call'],
    [{ type: 'future_call', id: 'x', result: { note: 'Done.' } }, ['note: Done.'], 'input.future_call'],
    [
      { role: 'user', content: [{ type: 'input_file', file_id: 'file-abc' }] },
      ['[file file-abc: not available to this model]'],
      'input.content.file_id',
    ],
  ],
  messages: [
    [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'news' } },
      ['name: web_search\nquery: news'],
      'messages.content.server_tool_use',
    ],
    [
      {
        ...{ type: 'web_search_tool_result', tool_use_id: 's' },
        content: [
          { type: 'web_search_result', title: 'T', url: 'https://a.example', encrypted_content: cipher },
        ],
      },
      ['[web_search_tool_result] title: T\nurl: https://a.example'],
      'messages.content.web_search_tool_result',
    ],
    [
      {
        ...{ type: 'web_fetch_tool_result', tool_use_id: 's' },
        content: {
          type: 'web_fetch_result',
          content: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Page.' } },
        },
      },
      ['data: Page.'],
      'messages.content.web_fetch_tool_result',
    ],
    [
      { type: 'bash_code_execution_tool_result', content: { stdout: '42', stderr: '', return_code: 0 } },
      ['stdout: 42\nreturn_code: 0'],
      'messages.content.bash_code_execution_tool_result',
    ],
    [
      { type: 'mcp_tool_use', id: 'm', name: 'roll', server_name: 'dice', input: { n: 2 } },
      ['name: roll\nserver_name: dice\nn: 2'],
      'messages.content.mcp_tool_use',
    ],
    [
      { type: 'mcp_tool_result', tool_use_id: 'm', content: [{ type: 'text', text: 'seven' }] },
      ['[mcp_tool_result] seven'],
      'messages.content.mcp_tool_result',
    ],
    [
      { type: 'tool_search_tool_result', content: { tool_references: [{ tool_name: 'TaskStop' }] } },
      ['tool_name: TaskStop'],
      'messages.content.tool_search_tool_result',
    ],
    [
      { type: 'advisor_tool_result', content: { text: 'Wait.' } },
      ['Wait.'],
      'messages.content.advisor_tool_result',
    ],
    [{ type: 'container_upload', file_id: 'file_1' }, [], 'messages.content.container_upload'],
    [{ type: 'fallback' }, [], 'messages.content.fallback'],
    [{ type: 'compaction', content: null }, [], 'messages.content.compaction'],
    [
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      ['[file file_1: not available to this model]'],
      'messages.content.source.type',
    ],
  ],
  gemini: [
    [
      { executableCode: { language: 'PYTHON', code: 'print(6*7)' } },
      ['[executableCode] language: PYTHON\ncode: print(6*7)'],
      'contents.parts.executableCode',
    ],
    [
      { code_execution_result: { outcome: 'OUTCOME_OK', output: '42' } },
      ['outcome: OUTCOME_OK\n42'],
      'contents.parts.code_execution_result',
    ],
    [
      { toolCall: { toolType: 'GOOGLE_SEARCH', args: { q: 'news' } } },
      ['q: news'],
      'contents.parts.toolCall',
    ],
    [
      { fileData: { fileUri: 'gs://a/b.pdf' } },
      ['[file gs://a/b.pdf: not available to this model]'],
      'contents.parts',
    ],
    [{ newestPart: { a: 1 } }, [], 'newestPart'],
  ],
  chat: [
    [
      { role: 'assistant', content: 'Heard.', audio: { id: 'audio_1', transcript: 'Hello.' } },
      ['Heard.', 'transcript: Hello.'],
      'messages.audio',
    ],
    [
      {
        ...{ role: 'assistant', content: 'Looked.' },
        tool_calls: [{ id: 'x', type: 'web_search', search: { query: 'news' } }],
      },
      ['Looked.', 'query: news'],
      'messages.tool_calls.web_search',
    ],
    [
      { role: 'user', content: [{ type: 'file', file: { file_id: 'file-abc' } }] },
      ['[file file-abc: not available to this model]'],
      'messages.content.file.file_id',
    ],
    [
      { role: 'user', content: [{ type: 'video_url', video_url: { url: 'u' } }] },
      ['url: u'],
      'messages.content.video_url',
    ],
  ],
};

/** A conversation with an item between two answers of the model, in each API. */
const around: Record<DialectName, (item: Fields) => Fields> = {
  responses: (item) => ({
    input: [
      { role: 'user', content: 'First.' },
      { role: 'assistant', content: 'Second.' },
      item,
      { role: 'assistant', content: 'Third.' },
      { role: 'user', content: 'Fourth.' },
    ],
  }),
  messages: (item) => ({
    max_tokens: 1,
    messages: [
      { role: 'user', content: 'First.' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Second.' }, item, { type: 'text', text: 'Third.' }],
      },
      { role: 'user', content: 'Fourth.' },
    ],
  }),
  gemini: (item) => ({
    contents: [
      { role: 'user', parts: [{ text: 'First.' }] },
      { role: 'model', parts: [{ text: 'Second.' }, item, { text: 'Third.' }] },
      { role: 'user', parts: [{ text: 'Fourth.' }] },
    ],
  }),
  chat: (item) => ({
    messages: [
      { role: 'user', content: 'First.' },
      { role: 'assistant', content: 'Second.' },
      item,
      { role: 'assistant', content: 'Third.' },
      { role: 'user', content: 'Fourth.' },
    ],
  }),
};

describe.each(Object.keys(histories) as DialectName[])('in a history of %s', (client) => {
  it.each(histories[client])('%j goes on by its words', async (item, words, named) => {
    for (const target of targets.filter((each) => each !== client)) {
      const { text, ignored } = await translator(client, target)(around[client](item));
      const escaped = words.map((each) => JSON.stringify(each).slice(1, -1));
      for (const each of ['First.', 'Second.', 'Third.', 'Fourth.', ...escaped]) expect(text).toContain(each);
      expect(text).not.toContain(cipher.slice(0, 40));
      expect(ignored).toContain(named);
    }
  });
});

it('a result with tools that a search has found names them', async () => {
  const found = ['TaskStop', 'TaskList'].map((name) => ({ type: 'tool_reference', tool_name: name }));
  const messages = [
    { role: 'user', content: 'Go' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'ToolSearch', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: found }] },
  ];
  const { body, ignored } = await translator('messages', 'chat')({ max_tokens: 1, messages });
  expect(body['messages']).toMatchObject([
    {},
    {},
    { role: 'tool', content: '[tool_reference] tool_name: TaskStop\n[tool_reference] tool_name: TaskList' },
  ]);
  expect(ignored).toEqual(['messages.content.tool_reference']);
});

it("Anthropic's summary replaces all before it", async () => {
  const messages = [
    { role: 'user', content: 'Old.' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Older.' },
        { type: 'compaction', content: 'They spoke.' },
        { type: 'text', text: 'Newer.' },
        { type: 'tool_use', id: 'a', name: 'f', input: { big: 1 } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'R' }] },
  ];
  const { body } = await translator('messages', 'chat')({ max_tokens: 1, system: 'S', messages });
  expect(body['messages']).toMatchObject([
    { role: 'system', content: 'S' },
    { role: 'user', content: 'Summary of the conversation so far:\n\nThey spoke.' },
    { role: 'assistant', content: 'Newer.', tool_calls: [{ function: { arguments: '{"big":1}' } }] },
    { role: 'tool', content: 'R' },
  ]);
});

it('a picture of a screen goes on as one of the user', async () => {
  const input = [
    { role: 'user', content: 'Go' },
    { type: 'computer_call', call_id: 'k', action: { type: 'screenshot' } },
    {
      ...{ type: 'computer_call_output', call_id: 'k' },
      output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
    },
  ];
  const { body } = await translator('responses', 'messages')({ input });
  expect(body['messages']).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: [{ type: 'text' }] },
    { role: 'user', content: [{ type: 'image', source: { media_type: 'image/png' } }] },
  ]);
});

describe('a conversation', () => {
  it.each([
    [{ type: 'compaction', encrypted_content: cipher }],
    [{ type: 'item_reference', id: 'x' }],
    [{ type: 'future_call' }],
  ])('of nothing else than %j is refused', async (item) => {
    await expect(translator('responses', 'chat')({ input: [item] })).rejects.toMatchObject({
      code: 'unsupported_parameter',
      param: 'input[0].type',
    });
  });

  it('has many hosted items, and a deep one', async () => {
    const deep = Array.from({ length: 100 }).reduce<Fields>((inner) => ({ a: inner }), { b: 'lost' });
    const long = {
      type: 'future_call',
      notes: Array.from({ length: 5_000 }, (_, at) => ({ note: `n${at}` })),
    };
    const { text } = await translator(
      'responses',
      'chat',
    )({ input: [{ role: 'user', content: 'Go' }, { type: 'future_call', deep }, long] });
    expect(text).toContain('note: n100');
    expect(text).not.toContain('note: n4000');
    expect(text).not.toContain('lost');
  });
});
