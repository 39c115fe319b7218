import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { childSpan, continueTrace, toTraceparent } from './trace-context.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';

describe('a trace', () => {
  it.each([
    ['version 00', `00-${traceId}-${parentId}-01`, '01'],
    ['version 00, not sampled', `00-${traceId}-${parentId}-00`, '00'],
    ['a future version', `cc-${traceId}-${parentId}-01`, '01'],
    ['a future version with more fields', `cc-${traceId}-${parentId}-01-what-the-future-will-be-like`, '01'],
    ['a future version with an empty field', `cc-${traceId}-${parentId}-01-`, '01'],
  ])('goes on from %s with a span of its own', (_name, header, flags) => {
    const context = continueTrace(header);
    expect(context).toMatchObject({ traceId, flags, parentSpanId: parentId });
    expect(context.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(context.spanId).not.toBe(parentId);
    expect(toTraceparent(context)).toBe(`00-${traceId}-${context.spanId}-${flags}`);
  });

  it.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['an all-zero trace id', `00-${'0'.repeat(32)}-${parentId}-01`],
    ['an all-zero parent', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['the forbidden version ff', `ff-${traceId}-${parentId}-01`],
    ['version 00 with more fields', `00-${traceId}-${parentId}-01-more`],
    ['version 00 with a trailing dash', `00-${traceId}-${parentId}-01-`],
    ['a future version without its dash', `cc-${traceId}-${parentId}-01.more`],
    ['upper-case digits', `00-${traceId.toUpperCase()}-${parentId}-01`],
    ['digits that are none', `00-${traceId.replace('4', 'g')}-${parentId}-01`],
    ['a short trace id', `00-${traceId.slice(1)}-${parentId}-01`],
    ['a long parent', `00-${traceId}-${parentId}0-01`],
    ['short flags', `00-${traceId}-${parentId}-1`],
    ['space around it', ` 00-${traceId}-${parentId}-01`],
    ['a line end', `00-${traceId}-${parentId}-01\n`],
  ])('starts anew on %s', (_name, header) => {
    const context = continueTrace(header);
    expect(context.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(context.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(context.traceId).not.toBe(traceId);
    expect(context.flags).toBe('01');
    expect(context.parentSpanId).toBeNull();
  });

  it('has spans within spans', () => {
    const outer = continueTrace(`00-${traceId}-${parentId}-00`);
    const inner = childSpan(outer);
    expect(inner).toMatchObject({ traceId, flags: '00', parentSpanId: outer.spanId });
    expect(inner.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(inner.spanId).not.toBe(outer.spanId);
  });

  it('continues over as many hops as there are, and never repeats an id', () => {
    const first = continueTrace(undefined);
    const spans = new Set([first.spanId]);
    let context = first;
    for (let hop = 0; hop < 2_000; hop += 1) {
      context = continueTrace(toTraceparent(context));
      spans.add(context.spanId);
    }
    expect(context.traceId).toBe(first.traceId);
    expect(spans.size).toBe(2_001);
    expect(new Set(Array.from({ length: 2_000 }, () => continueTrace(undefined).traceId)).size).toBe(2_000);
  });

  it('is well formed for every header that a client may send', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (header) => {
        expect(toTraceparent(continueTrace(header))).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
      }),
    );
  });
});
