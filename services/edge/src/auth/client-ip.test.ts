import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../config.ts';
import { clientIp } from './client-ip.ts';

const peers = {
  ANALYTICS_GRPC: 'a:1',
  TENANT_GRPC: 'a:1',
  TENANT_HTTP: 'a:1',
  AGENT_HTTP: 'a:1',
  CHAT_HTTP: 'a:1',
  ANALYTICS_HTTP: 'a:1',
  MEMORY_HTTP: 'a:1',
  WEBHOOK_HTTP: 'a:1',
};
const keys = { ASSERTION_PRIVATE_KEY: 'x', ASSERTION_PUBLIC_KEYS: 'x' };

function found([trusted, remoteAddress, forwarded]: readonly [string, string, string?]): string | null {
  const { TRUSTED_PROXIES } = loadConfig({ ...peers, ...keys, TRUSTED_PROXIES: trusted });
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return clientIp({ headers, socket: { remoteAddress } } as unknown as IncomingMessage, TRUSTED_PROXIES);
}

describe('the address of a client', () => {
  it.each<[what: string, request: Parameters<typeof found>[0], expected: string | null]>([
    ['is that of the connection', ['', '203.0.113.9'], '203.0.113.9'],
    ['is not what a client says', ['', '203.0.113.9', '198.51.100.1'], '203.0.113.9'],
    ['is what a trusted proxy says', ['10.0.0.0/8', '10.1.2.3', '198.51.100.1'], '198.51.100.1'],
    ['is not what stands before it', ['10.0.0.0/8', '10.1.2.3', '1.1.1.1, 198.51.100.1'], '198.51.100.1'],
    ['is behind all the proxies', ['10.0.0.0/8, 192.0.2.7', '10.1.2.3', '9.9.9.9, 192.0.2.7'], '9.9.9.9'],
    ['is not asked of other proxies', ['10.0.0.0/8', '192.0.2.7', '198.51.100.1'], '192.0.2.7'],
    ['is shown as IPv4 where it is', ['', '::ffff:203.0.113.9'], '203.0.113.9'],
    ['may be IPv6', ['2001:db8::/32', '2001:db8::1', '2001:db9::5'], '2001:db9::5'],
    ['has no port', ['10.0.0.0/8', '10.1.2.3', '1.1.1.1:5, 198.51.100.1:51234'], '198.51.100.1'],
    ['has no port after IPv6', ['10.0.0.0/8', '10.1.2.3', '[2001:db9::5]:51234'], '2001:db9::5'],
    ['has no brackets', ['10.0.0.0/8', '10.1.2.3', '[2001:db9::5], 10.2.2.2:80'], '2001:db9::5'],
    ['is none when a proxy says nonsense', ['10.0.0.0/8', '10.1.2.3', 'unknown'], null],
  ])('%s', (_what, request, expected) => {
    expect(found(request)).toBe(expected);
  });

  it('needs a list of proxies that is one', () => {
    for (const wrong of ['everyone', '10.0.0.0/33', '300.1.1.1'])
      expect(() => found([wrong, '10.0.0.1'])).toThrow(/TRUSTED_PROXIES/);
  });
});
