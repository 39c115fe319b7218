import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { UntrustedProxies } from './untrusted-proxies.ts';

/** The lines of a log, and the object that writes them at a time of the test. */
function warned({ count = 0, isProxied = false } = {}) {
  const lines: string[] = [];
  const clock = { now: 0 };
  const log = createLogger('edge', 'warn', { write: (line) => void lines.push(line) });
  const isTrusted = (address: string) => address === '10.0.0.1';
  const proxies = new UntrustedProxies({ isTrusted, count, isProxied, log }, () => clock.now);
  const check = (remoteAddress: string, forwarded?: string) =>
    proxies.check({
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
      socket: { remoteAddress },
    } as unknown as IncomingMessage);
  return { lines, clock, proxies, check };
}

describe('a proxy in front that is not named', () => {
  it('is warned of at its first request that is forwarded, and once an hour', () => {
    const { lines, clock, check } = warned();
    check('10.0.0.1', '198.51.100.1');
    check('203.0.113.9');
    expect(lines).toEqual([]);
    for (const now of [0, 1, 3_599_999]) {
      clock.now = now;
      check('203.0.113.9', '198.51.100.1');
    }
    expect(lines).toEqual([expect.stringContaining('"peer":"203.0.113.9"')]);
    expect(lines[0]).toContain('TRUSTED_PROXIES');
    clock.now = 3_600_000;
    check('203.0.113.9', '198.51.100.1');
    expect(lines).toHaveLength(2);
  });

  it.each([
    ['none is named', { isProxied: true }, 1],
    ['one is named', { isProxied: true, count: 1 }, 0],
    ['none must be there', {}, 0],
  ])('is warned of at start where it must be there: %s', (_name, options, lines) => {
    const log = warned(options);
    log.proxies.start();
    expect(log.lines).toHaveLength(lines);
  });
});
