import { hash } from 'node:crypto';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mostValues, Placeholders, type ValueSource } from './placeholders.ts';

const ofClient: ValueSource = { isReturned: true, host: null };
const hashOf = (value: string): Buffer => hash('sha256', value, 'buffer');

function placeholdersOf(values: Record<string, string>, source = ofClient, hashBy = hashOf): Placeholders {
  const made = new Placeholders(hashBy);
  for (const [value, type] of Object.entries(values)) made.note(type, value, source);
  return made;
}

/** A text with its values back, in pieces of these lengths; `held`: the most characters held. */
function restored(
  all: Placeholders,
  text: string,
  lengths: readonly number[] = [1_000],
): { text: string; held: number } {
  const scan = all.scan();
  const values = [];
  let held = 0;
  for (let at = 0, index = 0; at < text.length; index += 1) {
    const length = lengths[index % lengths.length] ?? 1;
    const piece = atOnce(scan.push(text.slice(at, at + length)));
    at = Math.min(text.length, at + length);
    held = Math.max(held, at - piece.cleared);
    for (const value of piece.values) expect(value.until).toBeLessThanOrEqual(piece.cleared);
    values.push(...piece.values);
  }
  values.push(...scan.end().values);
  const parts: string[] = [];
  let end = 0;
  for (const { from, until, text: value } of values) {
    parts.push(text.slice(end, from), value);
    end = until;
  }
  return { text: [...parts, text.slice(end)].join(''), held };
}

const mail = 'ann.lee@gmail.com';
const all = placeholdersOf({ [mail]: 'email', '4111 1111 1111 1111': 'credit_card' });
const ofMail = all.placeholderOf('email', mail) ?? '';
const ofCard = all.placeholderOf('credit_card', '4111 1111 1111 1111') ?? '';

describe('a placeholder', () => {
  it('has the letters of its type and ten digits of its value', () => {
    expect(ofMail).toMatch(/^EMAIL\d{10}$/);
    expect(ofCard).toMatch(/^CREDITCARD\d{10}$/);
    expect(placeholdersOf({ [mail]: 'Order 2' }).placeholderOf('Order 2', mail)).toBe(
      ofMail.replace('EMAIL', 'ORDER'),
    );
    expect(placeholdersOf({ [mail]: '42' }).placeholderOf('42', mail)).toBe(ofMail.replace('EMAIL', 'VALUE'));
    expect(placeholdersOf({ [mail]: 'email' }).placeholderOf('email', mail)).toBe(ofMail);
  });

  it.each(['"', "'", '`', '\\', '\n', '\r', '\t', '\u2028', '\ud800'])(
    'stands for no value with %j, which is escaped',
    (unsafe) => {
      expect(placeholdersOf({ [`a${unsafe}b`]: 'email' }).placeholderOf('email', `a${unsafe}b`)).toBeNull();
    },
  );

  it('stands for no value that shares it', () => {
    const shared = placeholdersOf({ a: 'email', b: 'email' }, ofClient, () => Buffer.alloc(8));
    expect([shared.placeholderOf('email', 'a'), shared.placeholderOf('email', 'b')]).toEqual([null, null]);
    expect(restored(shared, 'EMAIL0000000000').text).toBe('EMAIL0000000000');
  });

  it('stands for no more values than have room', () => {
    const many = new Placeholders(hashOf);
    for (let index = 0; index <= mostValues.count; index += 1) many.note('email', `${index}@a.io`, ofClient);
    expect(many.placeholderOf('email', '0@a.io')).not.toBeNull();
    expect(many.placeholderOf('email', `${mostValues.count}@a.io`)).toBeNull();
    const long = 'x'.repeat(mostValues.charsOfOne + 1);
    expect(placeholdersOf({ [long]: 'email' }).placeholderOf('email', long)).toBeNull();
  });

  it('gets its value back in any case, and others stay', () => {
    const invented = 'EMAIL0000000001';
    const text = `${ofMail}, ${ofMail.toLowerCase()} Email${ofMail.slice(5)}\\n${ofCard}; ${invented} ${ofMail}1 PHONE${ofMail.slice(5)}`;
    expect(restored(all, text).text).toBe(
      `${mail}, ${mail} ${mail}\\n4111 1111 1111 1111; ${invented} ${ofMail}1 PHONE${ofMail.slice(5)}`,
    );
  });

  it('of a value of the agent alone stays', () => {
    const ofAgent = placeholdersOf({ [mail]: 'email' }, { isReturned: false, host: null });
    expect(restored(ofAgent, ofMail).text).toBe(ofMail);
    ofAgent.note('email', mail, ofClient);
    expect(restored(ofAgent, ofMail).text).toBe(mail);
  });

  it('stays in an address unless its value came in one of the same host', () => {
    const linked = placeholdersOf({ [mail]: 'email' }, { isReturned: true, host: 'a.example' });
    const at = (host: string, value: string): string => `![x](https://${host}/?q=${value}) ${value}`;
    expect(restored(linked, at('a.example', ofMail)).text).toBe(at('a.example', mail));
    expect(restored(linked, at('b.example', ofMail)).text).toBe(
      at('b.example', ofMail).replace(/\S+$/, mail),
    );
    expect(restored(linked, `https://${ofMail}`).text).toBe(`https://${ofMail}`);
  });

  it('is found however a text is split, and nothing else waits', () => {
    const part = fc.constantFrom(
      ...[
        ofMail,
        ofMail.toLowerCase(),
        ofCard,
        'EMAIL',
        'email12',
        'CREDIT',
        '4',
        '0123456789',
        ' ',
        'é',
        '😀',
      ],
      ...['https://a.example/?', '](', '<', '"', '\n', 'text', 'e', 'ß'],
    );
    const texts = fc.array(part, { minLength: 1, maxLength: 12 }).map((list) => list.join(''));
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(texts, sizes, (text, lengths) => {
        const split = restored(all, text, lengths);
        expect(split.text).toBe(restored(all, text).text);
        expect(split.held).toBeLessThanOrEqual('CREDITCARD'.length + 10);
      }),
      { numRuns: 2_000 },
    );
    expect(restored(all, 'Nothing that waits, 5 or 12345.', [1]).held).toBeLessThanOrEqual(1);
  });
});
