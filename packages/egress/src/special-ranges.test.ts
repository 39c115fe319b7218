import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { addressOf, isPublic, specialRanges } from './special-ranges.ts';

const isPublicText = (text: string): boolean => {
  const address = addressOf(text);
  if (address === null) throw new Error(`${text} is no address`);
  return isPublic(address);
};

describe('public addresses', () => {
  it.each(['1.1.1.1', '8.8.8.8', '100.63.255.255', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001::200e'])(
    'have %s among them',
    (text) => expect(isPublicText(text)).toBe(true),
  );

  it.each([
    ...['0.0.0.0', '10.255.255.255', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254'],
    ...['172.16.0.1', '172.31.255.255', '192.0.0.8', '192.168.1.1', '198.19.255.255', '224.0.0.1'],
    ...[
      '255.255.255.255',
      '::',
      '::1',
      '::127.0.0.1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '64:ff9b::7f00:1',
    ],
    ...['64:ff9b:1::a00:1', '2002:7f00:1::', '2001:0:7f00:1::', 'fd00:ec2::254', 'fe80::1', 'ff02::1'],
    ...['2a00::5efe:7f00:1', '2a00::200:5efe:7f00:1', '4000::1', 'fec0::1', '2001:db8::1'],
  ])('do not have %s', (text) => expect(isPublicText(text)).toBe(false));

  it.each(Object.keys(specialRanges))('have none of %s, from its first to its last', (range) => {
    const [, bits = ''] = range.split('/');
    const kind = range.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
    const first = kind.networkAddressFromCIDR(range);
    const bytes = first.toByteArray();
    for (let bit = Number(bits); bit < bytes.length * 8; bit += 1)
      bytes[Math.floor(bit / 8)] = (bytes[Math.floor(bit / 8)] ?? 0) | (128 >> (bit % 8));
    expect([isPublic(first), isPublic(ipaddr.fromByteArray(bytes))]).toEqual([false, false]);
  });

  it('are never what the library calls anything but unicast', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ minLength: 4, maxLength: 4 }),
      fc.uint8Array({ minLength: 16, maxLength: 16 }),
    );
    fc.assert(
      fc.property(bytes, (drawn) => {
        const address = ipaddr.fromByteArray([...drawn]);
        if (isPublic(address)) expect(address.range()).toBe('unicast');
      }),
      { numRuns: 5_000 },
    );
  });
});
