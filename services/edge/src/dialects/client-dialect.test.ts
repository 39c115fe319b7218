import { describe, expect, it } from '@jest/globals';
import { dialectNames } from '@gatehouse/contract/dialects';
import { routes } from '@gatehouse/contract/routes';
import { clientSurfaces as surfaces } from '@gatehouse/dialects/client-surfaces';
import type { ClientSurface } from '@gatehouse/dialects/client-surface';
import { clientDialect, dialectOfUnknown, hidesMethods } from './client-dialect.ts';

const clientSurfaces: Record<string, ClientSurface> = surfaces;
const anthropic = { 'anthropic-version': '2023-06-01' };
const google = { 'x-goog-api-client': 'google-genai-sdk/3.3.0' };

describe('the dialect of a request', () => {
  it.each<[method: string, url: string, headers: Record<string, string>, dialect: string]>([
    ['POST', '/v1/chat/completions', anthropic, 'chat'],
    ['GET', '/v1/agents?key=x', google, 'chat'],
    ['POST', '/v1/messages?beta=true', {}, 'messages'],
    ['POST', '/v1/messages/count_tokens', {}, 'messages'],
    ['POST', '/v1/messagesx', {}, 'chat'],
    ['GET', '/v1/responses/r?stream=true', {}, 'responses'],
    ['POST', '/v1beta/models/m:generateContent', {}, 'gemini'],
    ['POST', '/openai/responses?api-version=2026-01-01', {}, 'responses'],
    ['POST', '/openai/v1/responses', {}, 'responses'],
    ['POST', '/openai/deployments/responses/chat/completions', anthropic, 'chat'],
    ['GET', '/v1beta', {}, 'gemini'],
    ['GET', '/v1beta2/models', {}, 'chat'],
    ['GET', '/v1/models', {}, 'chat'],
    ['GET', '/v1/models?client_version=0.169.0', {}, 'chat'],
    ['GET', '/v1/models?limit=1000', anthropic, 'messages'],
    ['GET', '/v1/models/m', { 'x-goog-api-key': 'k' }, 'gemini'],
    ['GET', '/v1/models/m', google, 'gemini'],
    ['GET', '/v1/models', { ...anthropic, ...google }, 'gemini'],
    ['GET', '/v1/models?pageSize=1&%6Bey=k', {}, 'gemini'],
    ['GET', '/v1/models?monkey=k', {}, 'chat'],
    ['POST', '/v1/models/m:generateContent', {}, 'gemini'],
    ['POST', '/v1/models/agent%3Am%3AgenerateContent', {}, 'gemini'],
    ['POST', '/v1/models', {}, 'chat'],
    ['DELETE', '/v1/models/agent:m', {}, 'chat'],
  ])('%s %s %j is %s', (method, url, headers, dialect) => {
    expect(clientDialect({ method, url, headers })).toBe(dialect);
  });

  it('is decided by the path alone at routes of completions without parameters', () => {
    const literal = routes.filter(({ passThrough, path }) => passThrough && !path.includes('{'));
    expect(literal.length).toBeGreaterThan(3);
    const signs = { ...anthropic, ...google, 'x-goog-api-key': 'k', 'x-api-key': 'k' };
    for (const { path, dialects = ['chat'] } of literal)
      for (const method of ['POST', 'GET', 'OPTIONS'])
        for (const query of ['', '?key=k', '?'])
          for (const headers of [{}, signs]) {
            const seen = { method, url: path + query, path, headers };
            const recognised = dialectNames.filter((name) => clientSurfaces[name]?.recognises?.(seen));
            expect([recognised.at(-1) ?? 'chat', dialects]).toEqual([
              clientDialect(seen),
              [clientDialect(seen)],
            ]);
          }
  });

  it('is the one that the route table has', () => {
    for (const { method, path, dialects = ['chat'] } of routes) {
      const url = path.replaceAll(/\{(\w+)[+*]?\}/g, '$1');
      expect(dialects).toContain(clientDialect({ method, url, headers: {} }));
    }
  });

  it('is Google’s for unknown paths under /v1 that its clients ask for', () => {
    const unknown = (url: string, headers: Record<string, string>): string =>
      dialectOfUnknown({ method: 'POST', url, headers });
    expect(unknown('/v1/cachedContents', google)).toBe('gemini');
    expect(unknown('/v1/cachedContents?key=k', {})).toBe('gemini');
    expect(unknown('/v1/cachedContents', {})).toBe('chat');
    expect(unknown('/v1/messages/none', {})).toBe('messages');
    expect(unknown('/v2/cachedContents', google)).toBe('chat');
  });
});

it('a method of Google’s API is called by POST, after a colon', () => {
  const calls = (method: string, url: string): boolean =>
    hidesMethods('gemini', { method, url, headers: {} });
  expect(calls('POST', '/v1beta/models/m:countTokens?alt=json')).toBe(true);
  expect(calls('GET', '/v1beta/models/m:countTokens')).toBe(false);
  expect(calls('POST', '/v1beta/models/m?x=:countTokens')).toBe(false);
  expect(calls('POST', '/v1beta/m:x/operations')).toBe(false);
  expect(hidesMethods('chat', { method: 'POST', url: '/v1/agents/a:b', headers: {} })).toBe(false);
});
