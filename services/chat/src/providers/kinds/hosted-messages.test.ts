import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { betasIn, hostedMessages } from './hosted-messages.ts';

const host = { version: 'host-1', betas: [], withoutNames: ['model', 'stream'] };
const edited = (text: string, fields: object = {}): string =>
  hostedMessages(Buffer.from(text), { ...host, ...fields }).toString();

describe('a request for another host of Anthropic’s models', () => {
  it('keeps its bytes but for what the host has elsewhere', () => {
    expect(
      edited('{ "model":"m" ,"stream": true,\n "max_tokens": 1e2, "x":9007199254740993,"u":"\\ud800" }'),
    ).toBe('{ "max_tokens": 1e2, "x":9007199254740993,"u":"\\ud800","anthropic_version":"host-1" }');
  });

  it('is the same JSON wherever those members stand, and however often', () => {
    const name = fc.constantFrom<string>('model', 'stream', 'anthropic_version', 'a', 'b');
    const space = fc.constantFrom('', ' ', '\n');
    const member = fc.tuple(name, fc.jsonValue(), space);
    fc.assert(
      fc.property(fc.array(member, { maxLength: 8 }), fc.nat(8), fc.boolean(), (others, place, hasBeta) => {
        const members = others.toSpliced(place, 0, ['messages', [], ' ']);
        const text = `{${members.map(([key, value, gap]) => `${gap}${JSON.stringify(key)}${gap}:${JSON.stringify(value)}${gap}`).join(',')}}`;
        const { model: _model, stream: _stream, ...kept } = JSON.parse(text) as Record<string, unknown>;
        const betas = hasBeta ? ['one', 'two'] : [];
        expect(JSON.parse(edited(text, { betas }))).toEqual({
          ...kept,
          anthropic_version: 'host-1',
          ...(hasBeta && { anthropic_beta: betas }),
        });
      }),
    );
  });

  it('keeps betas and defaults that it has itself', () => {
    const own = '{"anthropic_beta":["own"],"max_tokens":5,"anthropic_version":"host-1"}';
    expect(
      edited('{"anthropic_beta":["own"],"max_tokens":5}', { betas: ['b'], defaults: { max_tokens: '1' } }),
    ).toBe(own);
    expect(JSON.parse(edited('{"a":1}', { defaults: { max_tokens: '1' } }))).toMatchObject({ max_tokens: 1 });
  });

  it('has the betas of its header', () => {
    expect(betasIn({ 'anthropic-beta': 'a-1, b-2 ,,c-3' })).toEqual(['a-1', 'b-2', 'c-3']);
    expect(betasIn({})).toEqual([]);
  });
});
