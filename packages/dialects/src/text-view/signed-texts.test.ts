import type { DialectName } from '@gatehouse/contract/dialects';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import { dialects } from '../dialects.ts';
import { TextView } from './text-view.ts';

type Fields = Record<string, unknown>;

const signature = 'c2lnbmVk';

interface Signed {
  /** A request with members added to it, to its message, and to the part with the thought. */
  request: (role: string, added?: { root?: Fields; message?: Fields; part?: Fields }) => Fields;
  /** Members that make a thought of an object. */
  mark: Fields;
  ofModel: string;
}

const thought = 'A thought';
const said = 'Said aloud';

const requests: Partial<Record<DialectName, Signed>> = {
  messages: {
    request: (role, { root, message, part } = {}) => ({
      system: said,
      messages: [
        {
          role,
          content: [
            { type: 'thinking', thinking: thought, signature, ...part },
            { type: 'text', text: said },
          ],
          ...message,
        },
      ],
      ...root,
    }),
    mark: { type: 'thinking', signature },
    ofModel: 'assistant',
  },
  gemini: {
    request: (role, { root, message, part } = {}) => ({
      systemInstruction: { parts: [{ text: said }] },
      contents: [
        {
          role,
          parts: [{ text: thought, thought: true, thoughtSignature: signature, ...part }, { text: said }],
          ...message,
        },
      ],
      ...root,
    }),
    mark: { thought: true, thoughtSignature: signature },
    ofModel: 'model',
  },
};

const textsOf = (name: DialectName, body: Fields): string[] =>
  atOnce(TextView.read(Buffer.from(JSON.stringify(body)), dialects[name].texts.request))
    .texts.filter(({ isFixed }) => !isFixed)
    .map(({ value }) => value);

describe.each(Object.entries(requests) as [DialectName, Signed][])(
  'signed reasoning in a request for %s',
  (name, { request, mark, ofModel }) => {
    it('is not read in a part of the model', () => {
      expect(textsOf(name, request(ofModel))).toEqual([said, said]);
    });

    it('is read where no model said it', () => {
      for (const role of ['user', 'system', ''])
        expect(textsOf(name, request(role))).toEqual([said, thought, said]);
    });

    it('hides nothing else with marks of it at the request, a message or a text', () => {
      expect(textsOf(name, request('user', { root: mark }))).toEqual([said, thought, said]);
      expect(textsOf(name, request('user', { message: mark }))).toEqual([said, thought, said]);
      const unsigned = { ...mark, signature: '', thoughtSignature: '' };
      expect(textsOf(name, request(ofModel, { root: mark, message: mark, part: unsigned }))).toEqual([
        ...[said, thought, said],
      ]);
    });

    it('hides no member beside it', () => {
      const part = { title: 'A title', inner: { text: 'Inside', thinking: 'Inside' } };
      expect(textsOf(name, request(ofModel, { part }))).toEqual([
        ...[said, 'A title', 'Inside', 'Inside', said],
      ]);
    });
  },
);

describe('signed reasoning in a request for responses', () => {
  const item = {
    type: 'reasoning',
    encrypted_content: signature,
    summary: [{ type: 'summary_text', text: thought }],
    content: [{ type: 'reasoning_text', text: thought }],
  };
  const mark = { type: 'reasoning', encrypted_content: signature };
  const message = { role: 'user', content: [{ type: 'input_text', text: said }] };

  it('is not read in an item of the input', () => {
    expect(textsOf('responses', { input: [item, message] })).toEqual([said]);
  });

  it('hides nothing else with marks of it at the request, or in a message', () => {
    expect(textsOf('responses', { input: [message], instructions: said, ...mark })).toEqual([said, said]);
    expect(textsOf('responses', { input: [{ ...item, role: 'user' }] })).toEqual([thought, thought]);
    const inside = { role: 'user', content: [{ ...item, text: said }] };
    expect(textsOf('responses', { input: [inside] })).toEqual([thought, thought, said]);
    const unsigned = { ...item, encrypted_content: null };
    expect(textsOf('responses', { input: [unsigned], ...mark })).toEqual([thought, thought]);
  });

  it('hides no member beside it', () => {
    const summary = [{ type: 'summary_text', text: thought, title: 'A title', inner: { text: 'Inside' } }];
    expect(textsOf('responses', { input: [{ ...item, summary, title: said }] })).toEqual([
      ...['A title', 'Inside', said],
    ]);
  });
});

describe('signed reasoning in a chat completion', () => {
  it('is read, and hides nothing', () => {
    const mark = { type: 'thinking', signature };
    const body = { messages: [{ role: 'assistant', content: said, ...mark }], ...mark };
    expect(textsOf('chat', body)).toEqual([said]);
  });
});
