import { describe, expect, it } from '@jest/globals';
import { AllowList } from './allow-list.ts';
import { Guard } from './guard.ts';

const names: Record<string, string[]> = {
  'public.test': ['1.1.1.1', '2606:4700::1111'],
  'inside.test': ['10.0.0.1'],
  'mixed.test': ['1.1.1.1', 'fd00::1'],
};
const resolve = async (host: string) =>
  (names[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const guard = new Guard(new AllowList(['mcp.internal', '10.9.0.0/16']), resolve);

const codeOf = async (text: string): Promise<string> =>
  guard.check(text, 'callback_url').then(
    ({ href }) => href,
    (error: unknown) => {
      const { code, param } = error as { code: string; param: string };
      return `${code} ${param}`;
    },
  );

describe('a URL that a tenant gives', () => {
  it.each([
    ['https://public.test/hook', 'https://public.test/hook'],
    ['https://public.test:8443/', 'https://public.test:8443/'],
    ['https://1.1.1.1/', 'https://1.1.1.1/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
    // May be there when it is called.
    ['https://unknown.test/', 'https://unknown.test/'],
    ['http://mcp.internal/', 'http://mcp.internal/'],
    ['http://10.9.1.1:25/', 'http://10.9.1.1:25/'],
  ])('may be %s', async (text, href) => expect(await codeOf(text)).toBe(href));

  it.each([
    ...['', 'hook', '/hook', '//public.test', 'https://', 'file:///etc/passwd', 'gopher://public.test/'],
    ...[
      'data:text/plain,a',
      'javascript:alert(1)',
      'ftp://mcp.internal/',
      'http://public.test/',
      'http://1.1.1.1/',
    ],
    ...['https://user@public.test/', 'https://:secret@public.test/', 'https://user@mcp.internal/'],
    ...[
      'https://public.test:22/',
      'https://public.test:80/',
      'https://public.test:1023/',
      'https://public.test:0/',
    ],
    ...[
      'https://postgres/',
      'https://postgres.prod.svc.cluster.local/',
      'https://a.internal./',
      'https://localhost/',
    ],
    ...[
      'https://inside.test/',
      'https://mixed.test/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://10.8.1.1/',
    ],
    ...[
      'https://169.254.169.254/latest/meta-data',
      'https://0x7f.1/',
      'https://2130706433/',
      'https://[fd00::1]/',
    ],
  ])('may not be %j', async (text) => expect(await codeOf(text)).toBe('url_not_allowed callback_url'));
});
