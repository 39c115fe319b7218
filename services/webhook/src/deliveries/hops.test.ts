import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { Hops, hopsHeader } from './hops.ts';

const newHops = (): Hops => new Hops(KeyRing.parse(`a:${randomBytes(32).toString('base64')}`));
const hops = newHops();
const sentOn = (count: number): string => hops.headersOf(count)[hopsHeader] ?? '';

it('reads the most that it has counted, up to eight', () => {
  expect(hops.read([])).toBe(0);
  expect(hops.read([sentOn(3)])).toBe(3);
  expect(hops.read([sentOn(2), sentOn(8), 'none'])).toBe(8);
  const beyond = (): unknown => hops.read([sentOn(9)]);
  expect(beyond).toThrow(
    expect.objectContaining({ code: 'limit_reached', headers: { [hopsHeader]: 'exceeded' } }),
  );
});

it('recognises the response of a gateway that takes no further hop', () => {
  expect(hops.isExceeded({ [hopsHeader]: 'exceeded' })).toBe(true);
  expect(hops.isExceeded({ [hopsHeader]: sentOn(9) })).toBe(false);
  expect(hops.isExceeded({})).toBe(false);
});

it.each(['9', '', 'x'.repeat(5_000), newHops().headersOf(9)[hopsHeader] ?? ''])(
  'does not believe what others count',
  (value) => {
    expect(hops.read([value])).toBe(0);
  },
);
