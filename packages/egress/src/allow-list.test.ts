import { expect, it } from '@jest/globals';
import { parseConfig } from '@gatehouse/kit/config';
import { z } from 'zod';
import { AllowList } from './allow-list.ts';
import { egressSettings } from './settings.ts';

it('opens hosts at any address, and ranges for any host', () => {
  const allow = new AllowList(['MCP.internal', '10.1.0.0/16', '192.168.7.7', 'fd00:1::/32']);
  for (const host of ['mcp.internal', 'mcp.internal.', '10.1.2.3', '192.168.7.7', '[fd00:1::9]'])
    expect([host, allow.has(host)]).toEqual([host, true]);
  for (const host of [
    'internal',
    'a.mcp.internal',
    '10.2.0.1',
    '192.168.7.8',
    '[fd00:2::9]',
    '[::ffff:10.1.2.3]',
  ])
    expect([host, allow.has(host)]).toEqual([host, false]);
  expect(allow.admits('mcp.internal', '127.0.0.1')).toBe(true);
  expect(allow.admits('any.example', '10.1.2.3')).toBe(true);
  expect(allow.admits('any.example', '10.2.0.1')).toBe(false);
  expect(allow.admits('any.example', 'no address')).toBe(false);
});

it.each([
  ...[
    '10.0.0.0/33',
    '10/8',
    '10.1/16',
    '192.168/16',
    '010.0.0.0/8',
    '10.0.0.1/8',
    '10.0.0.0/',
    '10.0.0.0/8/8',
  ],
  ...[
    '[fd00::]/8',
    '[::1]',
    '[::1',
    'fd00::/129',
    '10',
    '0x7f',
    '10.1',
    '*.internal',
    '.internal',
    'a b',
    'a;b',
  ],
  ...["'a.example'", 'https://a.example', 'a.example:443', 'user@a.example', 'a.example/path', 'a..example'],
])('refuses the entry %s', (entry) => {
  expect(() => parseConfig(z.object(egressSettings), { EGRESS_ALLOW: `b.example, ${entry}` })).toThrow(
    `EGRESS_ALLOW: ${entry} is not a`,
  );
});

it('opens nothing if unset', () => {
  expect(parseConfig(z.object(egressSettings), {}).EGRESS_ALLOW.has('127.0.0.1')).toBe(false);
});
