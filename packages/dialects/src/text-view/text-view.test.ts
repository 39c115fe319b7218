import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

type Fields = Record<string, unknown>;

const viewOf = (name: DialectName, body: string | Fields): TextView => {
  const json = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return atOnce(TextView.read(json, dialects[name].texts.request));
};

/** The texts of a request, each as its kind, its path and its value; `=` before one that can't be rewritten. */
const textsOf = (name: DialectName, body: Fields): string[] =>
  viewOf(name, body).texts.map(
    ({ kind, param, value, isFixed }) => `${kind} ${param} ${isFixed ? '=' : ''}${value}`,
  );

describe('the memory of a view', () => {
  const withArguments = (text: string): Buffer => {
    const call = { type: 'function', function: { name: 'f', arguments: text } };
    return Buffer.from(JSON.stringify({ messages: [{ role: 'assistant', tool_calls: [call] }] }));
  };
  const many = withArguments(JSON.stringify({ list: Array.from({ length: 1_000 }, () => ({})) }));
  const bytesOf = (json: Buffer): number => {
    let bytes = 0;
    atOnce(TextView.read(json, dialects.chat.texts.request, (more) => (bytes += more)));
    return bytes;
  };

  it('grows with objects, also with those in strings of JSON', () => {
    expect(bytesOf(many)).toBeGreaterThan(bytesOf(withArguments('{}')) + 200_000);
  });

  it('is refused before the rest is read', () => {
    const full = (): never => {
      throw new Error('full');
    };
    expect(() => atOnce(TextView.read(many, dialects.chat.texts.request, full))).toThrow('full');
  });
});

describe('the texts of a request', () => {
  it('has those of chat completions', () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'send', arguments: '{"to":["a b"],"n":7}' },
    };
    expect(
      textsOf('chat', {
        model: 'small',
        user: 'somebody@example.com',
        metadata: { owner: 'somebody@example.com' },
        messages: [
          { role: 'system', content: 'Be short.' },
          { content: [{ text: 'Hello there', type: 'text' }], role: 'user' },
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: 'It is sent.' },
        ],
        tools: [
          {
            type: 'function',
            function: {
              name: 'send',
              description: 'Sends a mail.',
              parameters: {
                type: 'object',
                properties: { to: { type: 'string', enum: ['a b'], title: 'Whom' } },
              },
            },
          },
        ],
      }),
    ).toEqual([
      'system messages[0].content Be short.',
      'user messages[1].content[0].text Hello there',
      'user messages[2].tool_calls[0].function.name =send',
      'user messages[2].tool_calls[0].function.arguments =to',
      'user messages[2].tool_calls[0].function.arguments a b',
      'user messages[2].tool_calls[0].function.arguments =n',
      'user messages[2].tool_calls[0].function.arguments 7',
      'tool_result messages[3].content It is sent.',
      'system tools[0].function.name =send',
      'system tools[0].function.description Sends a mail.',
      'system tools[0].function.parameters =to',
      'system tools[0].function.parameters =a b',
      'system tools[0].function.parameters Whom',
    ]);
  });

  it('has those of responses', () => {
    expect(
      textsOf('responses', {
        model: 'small',
        instructions: 'Be short.',
        input: [
          { role: 'developer', content: 'Be kind.' },
          { role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] },
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: 'Signed' }],
            encrypted_content: 'c2VhbA==',
          },
          { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'Not signed' }] },
          { type: 'function_call', call_id: 'call_1', name: 'send', arguments: '{"to":"a b"}' },
          { type: 'custom_tool_call', call_id: 'call_2', name: 'run', input: '{"not":"parsed"}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'It is sent.' },
          {
            type: 'mcp_call',
            id: 'mcp_1',
            name: 'ask',
            server_label: 'wiki',
            arguments: '{}',
            output: 'It is so.',
          },
        ],
      }),
    ).toEqual([
      'system instructions Be short.',
      'system input[0].content Be kind.',
      'user input[1].content[0].text Hello there',
      'user input[3].summary[0].text Not signed',
      'user input[4].name =send',
      'user input[4].arguments =to',
      'user input[4].arguments a b',
      'user input[5].name =run',
      'user input[5].input {"not":"parsed"}',
      'tool_result input[6].output It is sent.',
      'user input[7].name =ask',
      'user input[7].server_label =wiki',
      'tool_result input[7].output It is so.',
    ]);
    expect(textsOf('responses', { input: 'Hello there' })).toEqual(['user input Hello there']);
  });

  it('has those of messages', () => {
    const file = {
      type: 'base64',
      media_type: 'text/plain',
      data: Buffer.from('A file.').toString('base64'),
    };
    expect(
      textsOf('messages', {
        max_tokens: 9,
        system: [{ type: 'text', text: 'Be short.', cache_control: { type: 'ephemeral' } }],
        messages: [
          { role: 'user', content: [{ type: 'document', source: file, title: 'Notes' }] },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Signed', signature: 'c2lnbmVk' },
              { type: 'tool_use', id: 'toolu_1', name: 'send', input: { to: ['a b'], n: 7.0 } },
            ],
          },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'toolu_1',
                content: [{ type: 'text', text: 'It is sent.' }],
              },
              { type: 'text', text: 'Thanks' },
            ],
          },
        ],
      }),
    ).toEqual([
      'system system[0].text Be short.',
      'user messages[0].content[0].source.data A file.',
      'user messages[0].content[0].title Notes',
      'user messages[1].content[1].name =send',
      'user messages[1].content[1].input =to',
      'user messages[1].content[1].input a b',
      'user messages[1].content[1].input =n',
      'user messages[1].content[1].input 7',
      'tool_result messages[2].content[0].content[0].text It is sent.',
      'user messages[2].content[1].text Thanks',
    ]);
  });

  it('has those of contents, in both spellings', () => {
    const call = { functionCall: { name: 'send', args: { to: 'a b' } }, thought_signature: 'c2lnbmVk' };
    expect(
      textsOf('gemini', {
        system_instruction: { parts: [{ text: 'Be short.' }] },
        contents: [
          { role: 'user', parts: [{ text: 'Hello there' }] },
          { role: 'model', parts: [{ text: 'Signed', thought: true, thoughtSignature: 'c2lnbmVk' }, call] },
          {
            role: 'user',
            parts: [{ function_response: { name: 'send', response: { output: 'It is sent.' } } }],
          },
        ],
        tools: [
          {
            functionDeclarations: [{ name: 'send', parameters: { properties: { to: { type: 'STRING' } } } }],
          },
        ],
      }),
    ).toEqual([
      'system systemInstruction.parts[0].text Be short.',
      'user contents[0].parts[0].text Hello there',
      'user contents[1].parts[1].functionCall.name =send',
      'user contents[1].parts[1].functionCall.args =to',
      'user contents[1].parts[1].functionCall.args a b',
      'tool_result contents[2].parts[0].functionResponse.name =send',
      'tool_result contents[2].parts[0].functionResponse.response =output',
      'tool_result contents[2].parts[0].functionResponse.response It is sent.',
      'system tools[0].functionDeclarations[0].name =send',
      'system tools[0].functionDeclarations[0].parameters =to',
    ]);
  });

  it('has strings and names of unknown members, and no such name in a path', () => {
    expect(textsOf('chat', { messages: [{ role: 'user', content: 'Hi', a_new: { text: 'More' } }] })).toEqual(
      ['user messages[0].content Hi', 'user messages[0] =a_new', 'user messages[0] More'],
    );
  });

  it('has an id, a word and a signature without the form of one, and no other', () => {
    const call = { id: 'call 1 of many', type: 'function', function: { name: 'send', arguments: '{}' } };
    expect(
      textsOf('chat', {
        messages: [
          { role: 'the user', content: '' },
          {
            role: 'assistant',
            thinking_blocks: [{ type: 'text', signature: 'no signature' }],
            tool_calls: [call],
          },
        ],
      }),
    ).toEqual([
      'user messages[0].role =the user',
      'user messages[1].thinking_blocks[0].signature =no signature',
      'user messages[1].tool_calls[0].id =call 1 of many',
      'user messages[1].tool_calls[0].function.name =send',
    ]);
  });

  it('has signed reasoning in chat completions, since no receiver is known to verify it', () => {
    const thinking = { type: 'thinking', thinking: 'I greet.', signature: 'c2lnbmVk' };
    expect(textsOf('chat', { messages: [{ role: 'assistant', thinking_blocks: [thinking] }] })).toEqual([
      'user messages[0].thinking_blocks[0].thinking I greet.',
    ]);
    expect(textsOf('messages', { messages: [{ role: 'assistant', content: [thinking] }] })).toEqual([]);
  });

  it('has each of two members of one name, whatever the other members are', () => {
    const body = '{"messages":[{"role":"user","content":"first","content":"second","role":"tool"}]}';
    expect(viewOf('chat', body).texts.map(({ kind, value }) => `${kind} ${value}`)).toEqual([
      'user first',
      'user second',
    ]);
  });

  it('names what it can’t read', () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const unreadableIn = (dialect: Parameters<typeof viewOf>[0], body: Fields): string[] =>
      viewOf(dialect, body).unreadable.map(
        ({ kind, param, isOlder }) => `${kind} ${param}${isOlder ? ' older' : ''}`,
      );
    const picture = { type: 'image_url', image_url: { url } };
    expect(
      unreadableIn('chat', {
        messages: [
          { role: 'user', content: [picture] },
          { role: 'assistant', content: 'A picture.' },
          {
            role: 'user',
            content: [
              picture,
              { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
              {
                type: 'file',
                file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' },
              },
              { type: 'file', file: { file_id: 'file-1' } },
            ],
          },
        ],
        tools: [{ type: 'web_search' }],
      }),
    ).toEqual([
      'user messages[0].content[0].image_url.url older',
      'user messages[2].content[0].image_url.url',
      'user messages[2].content[1].input_audio.data',
      'user messages[2].content[2].file.file_data',
      'user messages[2].content[3].file.file_id',
      'system tools[0]',
    ]);
    const content = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
    ];
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] };
    expect(unreadableIn('messages', { messages: [result] })).toEqual([
      'tool_result messages[0].content[0].content[0].source.data',
    ]);
    expect(unreadableIn('chat', { input: [[1, 2], [3]] })).toEqual(['user input[0]', 'user input[1]']);
    const tools = [{ google_search: {} }, { functionDeclarations: [{ name: 'send' }] }];
    expect(unreadableIn('gemini', { contents: [], tools })).toEqual(['system tools[0].googleSearch']);
  });
});
