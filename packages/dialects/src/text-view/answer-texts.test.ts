import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

type Fields = Record<string, unknown>;

const viewOf = (name: DialectName, answer: Fields): TextView =>
  atOnce(TextView.read(Buffer.from(JSON.stringify(answer)), dialects[name].texts.answer));

const textsOf = (name: DialectName, answer: Fields): string[] =>
  viewOf(name, answer).texts.map(
    ({ kind, param, value, isFixed }) => `${kind} ${param} ${isFixed ? '=' : ''}${value}`,
  );

const usage = { prompt_tokens: 3, completion_tokens: 4 };

describe('the texts of an answer', () => {
  it('has those of chat completions', () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'send', arguments: '{"to":"a b"}' } };
    const message = {
      role: 'assistant',
      content: 'Hello',
      reasoning_content: 'I greet.',
      tool_calls: [call],
    };
    expect(
      textsOf('chat', {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        model: 'small',
        choices: [
          { index: 0, message, finish_reason: 'tool_calls', logprobs: { content: [{ token: 'Hello' }] } },
        ],
        usage,
      }),
    ).toEqual([
      'answer choices[0].message.content Hello',
      'answer choices[0].message.reasoning_content I greet.',
      'tool_call choices[0].message.tool_calls[0].function.name =send',
      'tool_call choices[0].message.tool_calls[0].function.arguments =to',
      'tool_call choices[0].message.tool_calls[0].function.arguments a b',
    ]);
  });

  it('has those of responses, without what they repeat of the request', () => {
    const part = {
      type: 'output_text',
      text: 'Hello',
      annotations: [],
      logprobs: [{ token: 'Hello', bytes: [72] }],
    };
    expect(
      textsOf('responses', {
        id: 'resp_1',
        object: 'response',
        status: 'completed',
        instructions: 'Be short.',
        tools: [{ type: 'function', name: 'send', parameters: { properties: { to: {} } } }],
        text: { format: { type: 'text' } },
        metadata: { owner: 'the owner' },
        output: [
          {
            type: 'reasoning',
            id: 'rs_1',
            summary: [{ type: 'summary_text', text: 'I greet.' }],
            encrypted_content: 'c2VhbA==',
          },
          { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] },
          { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'send', arguments: '{"to":"a b"}' },
          { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'a b' } },
        ],
      }),
    ).toEqual([
      'answer output[0].summary[0].text I greet.',
      'answer output[1].content[0].text Hello',
      'tool_call output[2].name =send',
      'tool_call output[2].arguments =to',
      'tool_call output[2].arguments a b',
      'answer output[3].action.query a b',
    ]);
  });

  it('has those of messages', () => {
    expect(
      textsOf('messages', {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'small',
        content: [
          { type: 'thinking', thinking: 'I greet.', signature: 'c2lnbmVk' },
          {
            type: 'text',
            text: 'Hello',
            citations: [{ type: 'page_location', cited_text: 'A page.', document_title: null }],
          },
          { type: 'tool_use', id: 'toolu_1', name: 'send', input: { to: 'a b' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_1',
            content: [
              {
                type: 'web_search_result',
                title: 'A title',
                url: 'https://example.com/a b',
                encrypted_content: 'c2VhbA==',
              },
            ],
          },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 3, output_tokens: 4, service_tier: 'standard' },
      }),
    ).toEqual([
      'answer content[0].thinking I greet.',
      'answer content[1].text Hello',
      'answer content[1].citations[0].cited_text A page.',
      'tool_call content[2].name =send',
      'tool_call content[2].input =to',
      'tool_call content[2].input a b',
      'tool_result content[3].content[0].title A title',
      'tool_result content[3].content[0].url https://example.com/a b',
    ]);
  });

  it('has those of candidates', () => {
    const call = { functionCall: { name: 'send', args: { to: 'a b' } }, thoughtSignature: 'c2lnbmVk' };
    expect(
      textsOf('gemini', {
        candidates: [
          {
            content: { role: 'model', parts: [{ text: 'I greet.', thought: true }, { text: 'Hello' }, call] },
            finishReason: 'STOP',
            index: 0,
          },
        ],
        usageMetadata: { promptTokenCount: 3 },
        modelVersion: 'small',
        responseId: 'r-1',
      }),
    ).toEqual([
      'answer candidates[0].content.parts[0].text I greet.',
      'answer candidates[0].content.parts[1].text Hello',
      'tool_call candidates[0].content.parts[2].functionCall.name =send',
      'tool_call candidates[0].content.parts[2].functionCall.args =to',
      'tool_call candidates[0].content.parts[2].functionCall.args a b',
    ]);
  });

  it('has offsets of citations in the changed text', () => {
    const masked = (name: DialectName, answer: Fields): unknown => {
      const view = viewOf(name, answer);
      const viewText = view.texts.find(({ value }) => value.includes('SECRET'));
      const from = viewText?.value.indexOf('SECRET') ?? -1;
      if (viewText === undefined) throw new Error('the view has no such text');
      return JSON.parse(
        atOnce(view.rewritten([{ viewText, from, until: from + 6, text: '[S]' }])).toString(),
      );
    };
    const message = (content: string, start: number, end: number): Fields => ({
      choices: [
        {
          message: {
            annotations: [{ url_citation: { start_index: start, end_index: end, title: 'A title' } }],
            content,
          },
        },
      ],
    });
    expect(masked('chat', message('🎉 SECRET is here', 9, 16))).toEqual(message('🎉 [S] is here', 6, 13));
    const output = (text: string, start: number, end: number): Fields => ({
      output: [
        { type: 'message', content: [{ text, annotations: [{ start_index: start, end_index: end }] }] },
        { type: 'message', content: [{ text: 'b', annotations: [{ start_index: 9, end_index: 16 }] }] },
      ],
    });
    expect(masked('responses', output('a SECRET', 2, 8))).toEqual(output('a [S]', 2, 5));
    const candidate = (text: string, startIndex: number, endIndex: number): Fields => ({
      candidates: [
        {
          content: { parts: [{ text: 'a' }, { text }] },
          groundingMetadata: {
            groundingSupports: [
              { segment: { partIndex: 1, startIndex, endIndex } },
              { segment: { startIndex: 9, endIndex: 16 } },
            ],
          },
        },
      ],
    });
    expect(masked('gemini', candidate('é SECRET é', 9, 12))).toEqual(candidate('é [S] é', 6, 9));
  });

  it('loses the signature of reasoning with its text', () => {
    const unsigned = (name: DialectName, answer: Fields): unknown => {
      const view = viewOf(name, answer);
      const [viewText] = view.texts;
      if (viewText === undefined) throw new Error('the view has no text');
      return JSON.parse(atOnce(view.rewritten([{ viewText, from: 0, until: 1, text: 'We' }])).toString());
    };
    const thinking = { type: 'thinking', thinking: 'I greet.', signature: 'c2lnbmVk' };
    const text = { type: 'text', text: 'Hello', signature: 'c2lnbmVk' };
    expect(unsigned('messages', { content: [thinking, text] })).toEqual({
      content: [{ ...thinking, thinking: 'We greet.', signature: '' }, text],
    });
    const item = (summary: string, sealed: string | null): Fields => ({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: summary }],
      encrypted_content: sealed,
    });
    expect(
      unsigned('responses', { output: [item('I greet.', 'c2VhbA=='), item('Bye.', 'c2VhbA==')] }),
    ).toEqual({
      output: [item('We greet.', null), item('Bye.', 'c2VhbA==')],
    });
    const parts = (thought: string, thoughtSignature: string): Fields => ({
      candidates: [{ content: { parts: [{ text: thought, thought: true, thoughtSignature }] } }],
    });
    expect(unsigned('gemini', parts('I greet.', 'c2lnbmVk'))).toEqual(parts('We greet.', ''));
    const details = (thought: string, signature: string | null): Fields => ({
      choices: [{ message: { reasoning_details: [{ type: 'reasoning.text', text: thought, signature }] } }],
    });
    expect(unsigned('chat', details('I greet.', 'c2lnbmVk'))).toEqual(details('We greet.', null));
  });

  it('loses the tokens of changed texts, and of no other', () => {
    const choice = (content: string): Fields => ({
      message: { content },
      logprobs: { content: [{ token: content }] },
    });
    const view = viewOf('chat', { choices: [choice('Hello'), choice('Bye')] });
    const [viewText] = view.texts;
    if (viewText === undefined) throw new Error('the view has no text');
    expect(
      JSON.parse(atOnce(view.rewritten([{ viewText, from: 1, until: 4, text: '---' }])).toString()),
    ).toEqual({
      choices: [{ message: { content: 'H---o' }, logprobs: null }, choice('Bye')],
    });
  });
});
