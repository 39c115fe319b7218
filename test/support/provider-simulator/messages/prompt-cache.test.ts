import { describe, expect, it } from '@jest/globals';
import { inputSegments } from './input-segments.ts';
import { messageUsage } from './message-usage.ts';
import { PromptCache } from './prompt-cache.ts';

const text = 'a'.repeat(400);
const mark = { cache_control: { type: 'ephemeral' } };
const output = { tokens: 1, thinking: 0 };

function chargeOf(cache: PromptCache, body: Record<string, unknown>, model = 'm'): object {
  const { input_tokens, cache_read_input_tokens, cache_creation } = messageUsage(
    cache.charge(model, inputSegments(body)),
    output,
  );
  return {
    input: input_tokens,
    read: cache_read_input_tokens,
    written: [cache_creation.ephemeral_5m_input_tokens, cache_creation.ephemeral_1h_input_tokens],
  };
}

describe('the prompt cache', () => {
  it('is written by the first request, and read by the next one with the same beginning', () => {
    const cache = new PromptCache();
    const system = [{ type: 'text', text, cache_control: { type: 'ephemeral', ttl: '1h' } }];
    const ask = (content: string): Record<string, unknown> => ({
      system,
      messages: [{ role: 'user', content }],
    });
    expect(chargeOf(cache, ask('one'))).toEqual({ input: 4, read: 0, written: [0, 103] });
    expect(chargeOf(cache, ask('another'))).toEqual({ input: 5, read: 103, written: [0, 0] });
    expect(chargeOf(cache, ask('one'), 'other model')).toMatchObject({ read: 0 });
    cache.clear();
    expect(chargeOf(cache, ask('one'))).toMatchObject({ read: 0 });
  });

  it('has what an earlier turn has marked, whose text is a block or a string', () => {
    const cache = new PromptCache();
    const first = { messages: [{ role: 'user', content: [{ type: 'text', text, ...mark }] }] };
    const second = {
      messages: [
        { role: 'user', content: text },
        { role: 'assistant', content: 'yes' },
        { role: 'user', content: [{ type: 'text', text: 'and?', ...mark }] },
      ],
    };
    expect(chargeOf(cache, first)).toEqual({ input: 0, read: 0, written: [106, 0] });
    expect(chargeOf(cache, second)).toEqual({ input: 0, read: 106, written: [8, 0] });
    expect(chargeOf(cache, second)).toEqual({ input: 0, read: 114, written: [0, 0] });
  });

  it('is used by the last part where the request itself is marked, and not at all without a mark', () => {
    const cache = new PromptCache();
    const messages = [{ role: 'user', content: text }];
    expect(chargeOf(cache, { messages })).toEqual({ input: 106, read: 0, written: [0, 0] });
    expect(chargeOf(cache, { messages, ...mark })).toEqual({ input: 0, read: 0, written: [106, 0] });
    expect(chargeOf(cache, { messages, ...mark })).toEqual({ input: 0, read: 106, written: [0, 0] });
  });

  it('gives way to the figures of a fault', () => {
    const charge = { uncached: 1, read: 2, written5m: 3, written1h: 4 };
    const usage = messageUsage(charge, output, {
      prompt_tokens: 100,
      cached_tokens: 60,
      cache_write_tokens: 30,
    });
    expect(usage).toMatchObject({
      input_tokens: 10,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
    });
  });
});
