import { describe, expect, it } from '@jest/globals';
import { piiShapes, piiTypes, type PiiType } from './pii.ts';
import { shapesCheck } from '../compiled-check.ts';
import { matchesOf, textsOfShapes } from '../../test/scans.ts';

const regions = ['US', 'VN', 'DE', 'GB', 'FR'];

/** The matched texts of one type. */
function found(type: PiiType, text: string): string[] {
  const shapes = piiShapes({ types: [type], regions: type === 'phone' ? regions : [] });
  return textsOfShapes(shapes, text);
}

/** Texts by type, with their matches. */
const matching: Record<PiiType, [text: string, ...matches: string[]][]> = {
  email: [
    ['write to jane.doe+news@acme.co.uk, please', 'jane.doe+news@acme.co.uk'],
    ['mailto:jane@acme.com?subject=x', 'jane@acme.com'],
    ['"email":"jane_doe@mail.acme.io"', 'jane_doe@mail.acme.io'],
    ['<jane@acme.com>;<joe@acme.com>', 'jane@acme.com', 'joe@acme.com'],
    ['jane@acme.com.', 'jane@acme.com'],
    ['_jane@acme.com_ and *joe@acme.com*', 'jane@acme.com', 'joe@acme.com'],
    ['请联系jane@acme.com谢谢', 'jane@acme.com'],
    ['josé@acme.fr', 'josé@acme.fr'],
    ['{"code":"a\\njane@acme.com\\u0022"}', 'jane@acme.com'],
    ['https://app.acme.com/login?email=jane%40acme.com&x=1', 'jane%40acme.com'],
    ['git@acme.com is a mailbox', 'git@acme.com'],
    ['jane@acme.com:hunter2', 'jane@acme.com'],
    ['JANE@ACME.COM', 'JANE@ACME.COM'],
  ],
  phone: [
    ['call +1 212-555-2368 now', '+1 212-555-2368'],
    ['+84 912 345 678', '+84 912 345 678'],
    ['tel:+442079460958', '+442079460958'],
    ['(+49) 30 901820', '+49) 30 901820'],
    ['+44 (0)20 7946 0958', '+44 (0)20 7946 0958'],
    ['"phone":"+33 1 42 68 53 00"', '+33 1 42 68 53 00'],
    ['+84 912 345 678 2024', '+84 912 345 678'],
    ['số điện thoại: 0912345678', '0912345678'],
    ['0912.345.678', '0912.345.678'],
    ['(212) 555-2368', '(212) 555-2368'],
    ['212-555-2368', '212-555-2368'],
    ['1-212-555-2368 or 0084 912 345 678', '1-212-555-2368', '0084 912 345 678'],
    ['mobile 07911 123456', '07911 123456'],
    ['01 42 68 53 00', '01 42 68 53 00'],
    ['tel 2125552368', '2125552368'],
  ],
  credit_card: [
    ['4111111111111111', '4111111111111111'],
    ['card 4111 1111 1111 1111 12/27', '4111 1111 1111 1111'],
    ['4111-1111-1111-1111.', '4111-1111-1111-1111'],
    ['3782 822463 10005', '3782 822463 10005'],
    ['5555555555554444,2223003122003222', '5555555555554444', '2223003122003222'],
    [
      '6011111111111117 30569309025904 3530111333300000',
      '6011111111111117',
      '30569309025904',
      '3530111333300000',
    ],
    ['{"card":"5105105105105100"}', '5105105105105100'],
    ['Order 4111 1111 1111 1111', '4111 1111 1111 1111'],
    ['x\\n4111111111111111\\n', '4111111111111111'],
    ['4111 1111 1111 1111 123', '4111 1111 1111 1111'],
  ],
  iban: [
    ['DE89370400440532013000', 'DE89370400440532013000'],
    ['pay to DE89 3704 0044 0532 0130 00 please', 'DE89 3704 0044 0532 0130 00'],
    ['GB82 WEST 1234 5698 7654 32', 'GB82 WEST 1234 5698 7654 32'],
    ['gb82west12345698765432', 'gb82west12345698765432'],
    ['FR1420041010050500013M02606, NO9386011117947', 'FR1420041010050500013M02606', 'NO9386011117947'],
    ['IBAN:MT84MALT011000012345MTLCAST001S', 'MT84MALT011000012345MTLCAST001S'],
  ],
  ip_address: [
    ['from 8.8.8.8:53', '8.8.8.8'],
    ['http://93.184.215.14/a', '93.184.215.14'],
    ['ip=81.2.69.142;', '81.2.69.142'],
    ['81.2.69.142.', '81.2.69.142'],
    ['2606:4700:4700::1111', '2606:4700:4700::1111'],
    ['[2a00:1450:4001:81b::200e]:443', '2a00:1450:4001:81b::200e'],
  ],
  us_ssn: [
    ['536-90-4399', '536-90-4399'],
    ['SSN: 536904399', '536904399'],
    ['social security number 536 90 4399', '536 90 4399'],
  ],
  vn_citizen_id: [
    ['CCCD 079203001234', '079203001234'],
    ['079203001234', '079203001234'],
    ['số CCCD: 001 099 012345', '001 099 012345'],
    ['CMND: 023456789', '023456789'],
  ],
};

/** Texts by type in the form of a value, without its proofs. */
const clean: Record<PiiType, string[]> = {
  email: [
    'jane@example.com',
    'a@mail.example.org',
    'a@b.test',
    'root@localhost',
    'git@github.com:acme/x.git',
    'deploy@acme.com:/srv',
    'https://jane@acme.com/x',
    'logo@2x.png',
    'checkout@v4.2.2',
    'pkg@1.2.3-rc.ai',
    '@jane@mastodon.social',
    `${'a'.repeat(65)}@acme.com`,
    'jane@',
    '@acme.com',
  ],
  phone: [
    'a+84912345678',
    '+07:00',
    '2024-01-15 10:00',
    '15.01.2024',
    '192.168.100.200',
    '2125552368',
    '1.2.3.4',
    '1,234,567',
    '+84912345678a',
    '+999 123 456 789',
  ],
  credit_card: [
    '4111111111111112',
    '1234567812345670',
    'a4111111111111111',
    '4111111111111111a',
    '0.4111111111111111',
    '4111111111111111.25',
    '41111111111111111111',
    'order id: 4111111111111111',
    'orders/4111111111111111',
    '4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1',
    'abc-4111111111111111-def',
  ],
  iban: [
    'DE89370400440532013001',
    'XX89370400440532013000',
    'aDE89370400440532013000',
    'DE893704004405320130001',
    'DE89',
  ],
  ip_address: [
    '10.0.0.1 192.168.1.1 127.0.0.1 172.16.0.1 169.254.1.1 192.0.2.1 100.64.0.1',
    'v1.2.3.4',
    '1.2.3.4',
    'version 81.2.69.142',
    'Chrome/120.0.6099.109',
    '81.2.69.142.5',
    '81.2.69.142-beta',
    '256.1.1.1',
    '2001:db8::1:2:3',
    'fe80::1:2:3',
    '2024::x',
    '23:59:59',
  ],
  us_ssn: [
    '000-12-3456',
    '666-12-3456',
    '900-12-3456',
    '536-00-4399',
    '536-90-0000',
    '078-05-1120',
    '536904399',
    '1536-90-4399',
  ],
  vn_citizen_id: [
    '003203001234',
    '079403001234',
    '079299001234',
    '0792030012345',
    'đơn hàng 079203001234',
    '023456789',
  ],
};

describe.each(piiTypes)('%s', (type) => {
  it.each(matching[type])('is found in %j', (text, ...matches) => {
    expect(found(type, text)).toEqual(matches);
  });

  it.each(clean[type])('is not found in %j', (text) => {
    expect(found(type, text)).toEqual([]);
  });
});

describe('the check for personal data', () => {
  it('finds e-mail addresses, telephone numbers, cards and IBANs by default', () => {
    expect(piiShapes({}).map(({ type }) => type)).toEqual(['email', 'phone', 'credit_card', 'iban']);
  });

  it('finds international telephone numbers without regions', () => {
    const text = 'call +84 912 345 678 or 0912 345 679';
    const check = shapesCheck(piiShapes({ types: ['phone'] }), []);
    expect(matchesOf([check], text)).toEqual([{ check: 0, type: 'phone', from: 5, until: 20 }]);
  });

  it('throws for a region without telephone numbers', () => {
    expect(() => piiShapes({ types: ['phone'], regions: ['XX'] })).toThrow(RangeError);
  });
});
