import { describe, expect, it } from '@jest/globals';
import { AnswerPartReader, answerPartsOf } from './answer-parts.ts';

const google = (text: string) => ({ origin: 'google', text, isRedacted: false });
const thinking = (text: string, signature: string | null) => ({
  ...{ kind: 'thinking', text, signature: signature === null ? null : google(signature) },
});
const text = (said: string) => ({ kind: 'text', text: said });
const call = { kind: 'call', id: 'c1', name: 'f', argumentsText: '{}', isFreeform: false, namespace: null };
const calls = { functionCall: { id: 'c1', name: 'f' } };
const thought = (said: string) => ({ text: said, thought: true });

describe('the parts of an answer', () => {
  it.each<[string, object[], object[]]>([
    [
      'a signature behind a thought is its own',
      [thought('a'), thought('b'), { ...calls, thoughtSignature: 'S' }],
      [thinking('ab', 'S'), call],
    ],
    [
      'a signed text has its thought before it',
      [thought('a'), { text: 'x', thoughtSignature: 'S' }, { text: 'y' }],
      [thinking('a', 'S'), text('xy')],
    ],
    [
      'a signature in a text comes behind it',
      [{ text: 'x' }, { text: 'y', thought_signature: 'S' }, { text: 'z' }],
      [text('xyz'), thinking('', 'S')],
    ],
    [
      'a signature at the end of a text comes behind it',
      [{ text: 'x' }, { text: '', thoughtSignature: 'S' }],
      [text('x'), thinking('', 'S')],
    ],
    [
      'a call keeps its own',
      [{ text: 'x' }, { text: '', thoughtSignature: 'S' }, { ...calls, thoughtSignature: 'T' }],
      [text('x'), thinking('', 'S'), thinking('', 'T'), call],
    ],
    ['a keep-alive is no part', [{ text: 'x' }, thought(''), { text: 'y' }], [text('xy')]],
    [
      'a keep-alive inside of a thought is no part',
      [thought('a'), thought(''), thought('b'), { text: 'x' }],
      [thinking('ab', null), text('x')],
    ],
    ['a signature alone', [{ text: '', thoughtSignature: 'S' }], [thinking('', 'S')]],
    [
      'a signed picture',
      [{ text: 'x' }, { inlineData: {}, thoughtSignature: 'S' }],
      [text('x'), thinking('', 'S')],
    ],
    [
      'a signed empty thought ends the pieces before it',
      [thought('a'), { ...thought(''), thoughtSignature: 'S' }, { text: 'x' }],
      [thinking('a', 'S'), text('x')],
    ],
  ])('%s', (_what, parts, expected) => {
    expect(answerPartsOf(parts as never, () => null)).toEqual(expected);
  });

  it('are open one after the other, each closed once', () => {
    const reader = new AnswerPartReader();
    const parts = [
      thought('a'),
      calls,
      { text: 'x' },
      { text: '', thoughtSignature: 'S' },
      thought('b'),
      { text: 'y' },
    ];
    const events = [
      ...parts.flatMap((part) => reader.read(part, null)),
      ...reader.close(),
      ...reader.close(),
    ];
    let open = 0;
    for (const { type } of events) {
      if (type === 'open') open += 1;
      if (type === 'close') open -= 1;
      expect([0, 1]).toContain(open);
    }
    expect(open).toBe(0);
  });
});
