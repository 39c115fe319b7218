import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EdgeUnderTest } from './edge-under-test.ts';
import { RawClient } from './raw-client.ts';

let edge: EdgeUnderTest;
let assets: string[];

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(edge.url + path, {
    method,
    headers: { 'accept-encoding': 'identity', ...headers },
    redirect: 'manual',
  });

beforeAll(async () => {
  edge = await EdgeUnderTest.start();
  const html = await (await get('/app/')).text();
  assets = Array.from(html.matchAll(/(?:src|href)="(\/app\/[^"]+)"/g), ([, link = '']) => link);
});
afterAll(async () => edge.stop());

describe('the pages', () => {
  it.each(['/', '/app'])('are where %s leads to', async (path) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await get(path, {}, method);
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/app/']);
    }
    expect((await get(path, {}, 'POST')).status).toBe(405);
  });

  it.each([
    '/app/',
    '/app/usage',
    '/app/traces/0198c2c4-0a6b-7e25-9c81-7d3f5e2a1b64',
    '/app/agents?q=%C3%A9',
  ])('are one document at %s, which trusts only its own origin', async (path) => {
    const page = await get(path);
    expect(page.status).toBe(200);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'content-security-policy': [
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      ].join('; '),
    });
    const html = await page.text();
    expect(html).not.toMatch(/<script>|<style|style=| on\w+=|https?:/);
    expect((await get(path, {}, 'POST')).status).toBe(405);
  });

  it('load a script and a style sheet that browsers keep for good', async () => {
    expect(assets.map((path) => path.replace(/-\w{8}\./, '.'))).toEqual([
      '/app/assets/styles.css',
      '/app/assets/main.js',
    ]);
    for (const path of assets) {
      const asset = await get(path);
      expect(asset.status).toBe(200);
      expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(asset.headers.get('content-type')).toMatch(
        path.endsWith('.js') ? /^text\/javascript/ : /^text\/css/,
      );
      const etag = asset.headers.get('etag') ?? '';
      expect((await get(path, { 'if-none-match': etag })).status).toBe(304);
      const head = await get(path, {}, 'HEAD');
      expect([head.status, await head.text()]).toEqual([200, '']);
      expect(head.headers.get('content-length')).toBe(asset.headers.get('content-length'));
      expect((await get(path, {}, 'PUT')).status).toBe(405);
    }
  });

  it('are compressed for clients that take it, within 200 kB in all', async () => {
    let total = 0;
    for (const path of ['/app/', ...assets]) {
      const plain = await get(path);
      expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([
        null,
        'accept-encoding',
      ]);
      const zipped = await get(path, { 'accept-encoding': 'br;q=1.0, gzip;q=0.8' });
      expect(zipped.headers.get('content-encoding')).toBe('gzip');
      expect(zipped.headers.get('vary')).toBe('accept-encoding');
      expect(zipped.headers.get('etag')).not.toBe(plain.headers.get('etag'));
      expect(await zipped.text()).toBe(await plain.text());
      total += Number(zipped.headers.get('content-length'));
      expect((await get(path, { 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding')).toBeNull();
    }
    expect(total).toBeGreaterThan(5_000);
    expect(total).toBeLessThan(200_000);
  });

  it('have no other file, and no second spelling of a path', async () => {
    const raw = new RawClient(edge.port, {});
    for (const path of [
      '/app/assets/',
      '/app/assets/main.js',
      '/app/assets/..%2findex.html',
      '/app/../v1/agents',
      '/app/%2e%2e/v1/agents',
      '/app//v1/agents',
      '/app/a/./b',
      '/app/assets/../../package.json',
      '/appendix',
      '//',
    ]) {
      expect([path, await raw.request('GET', path)]).toMatchObject([
        path,
        { status: 404, code: 'route_not_found' },
      ]);
    }
    raw.close();
  });
});
