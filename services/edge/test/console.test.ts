import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { consoleAssets } from '@gatehouse/contract/console';
import { EdgeUnderTest } from './edge-under-test.ts';
import { RawClient } from './raw-client.ts';

let edge: EdgeUnderTest;

beforeAll(async () => {
  edge = await EdgeUnderTest.start();
});
afterAll(async () => edge.stop());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(edge.url + path, { method, headers, redirect: 'manual' });

const policyOf = (response: Response): Record<string, string> =>
  Object.fromEntries(
    (response.headers.get('content-security-policy') ?? '')
      .split('; ')
      .map((directive) => [directive.split(' ', 1)[0], directive.slice(directive.indexOf(' ') + 1)]),
  ) as Record<string, string>;

describe('the API console', () => {
  it('is a public page that trusts only its own origin', async () => {
    const page = await get('/api-docs');
    expect(page.status).toBe(200);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'x-frame-options': 'DENY',
    });
    const policy = policyOf(page);
    expect(policy).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    });
  });

  it('loads its own files only, which are all there, and under a path of something else as well', async () => {
    const html = await (await get('/api-docs')).text();
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(4);
    for (const link of links) {
      expect(link).toMatch(/^(api-docs\/assets\/[\w.-]+|openapi\.json)$/);
      expect((await get(new URL(link, 'http://gateway/api-docs').pathname)).status).toBe(200);
    }
    expect(html).not.toMatch(/<script>|<style|style=| on\w+=/);
  });

  it.each([...consoleAssets])('serves %s with its type and an ETag', async (name) => {
    const types = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };
    const path = `/api-docs/assets/${name}`;
    const asset = await get(path);
    expect(asset.status).toBe(200);
    expect(asset.headers.get('content-type')).toContain(types[name.split('.').at(-1) as keyof typeof types]);
    expect(asset.headers.get('x-content-type-options')).toBe('nosniff');
    const length = (await asset.arrayBuffer()).byteLength;
    expect(asset.headers.get('content-length')).toBe(String(length));
    const etag = asset.headers.get('etag') ?? '';
    const again = await get(path, { 'if-none-match': `"other", ${etag}` });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
    const head = await get(path, {}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(length),
      '',
    ]);
    expect((await get(path, {}, 'POST')).status).toBe(405);
  });

  it('serves no other file and no list of them', async () => {
    const raw = new RawClient(edge.port, {});
    for (const path of [
      '/api-docs/assets',
      '/api-docs/assets/',
      '/api-docs/assets/index.html',
      '/api-docs/assets/package.json',
      '/api-docs/assets/swagger-ui-bundle.js.map',
      '/api-docs/assets/../console.js',
      '/api-docs/assets/..%2f..%2fpackage.json',
      '/api-docs/assets/%2e%2e/package.json',
      '/api-docs/assets/..\\package.json',
      '/api-docs/assets/console.js%00',
      '/api-docs/assets//etc/passwd',
    ]) {
      expect(await raw.request('GET', path)).toMatchObject({ status: 404, code: 'route_not_found' });
    }
    raw.close();
  });
});
