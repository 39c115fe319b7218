import { describe, expect, it } from '@jest/globals';
import type { ModelQuery } from '@gatehouse/contract/chat';
import { AppError } from '@gatehouse/kit/errors';
import { clientSurfaces } from './client-surfaces.ts';
import type { UsableModel } from './model-list.ts';

const made = (id: string, created = 0): UsableModel => ({
  id,
  object: 'model',
  created,
  owned_by: 'some',
  maxOutputTokens: 100,
});
const models = ['a', 'b', 'c', 'd', 'e'].map((id) => made(id));
const list = { models, complete: true };

interface Page {
  ids: string[];
  has_more: boolean;
  first_id: string | null;
  last_id: string | null;
}

function anthropicPage(query: Record<string, string>): Page {
  const { data, ...page } = clientSurfaces.messages.models(list, query) as { data: { id: string }[] } & Omit<
    Page,
    'ids'
  >;
  return { ids: data.map(({ id }) => id), ...page };
}

function googlePage(of: UsableModel[], query: ModelQuery): { ids: string[]; nextPageToken?: string } {
  const page = clientSurfaces.gemini.models({ models: of, complete: true }, query);
  const { models: shown, ...rest } = page as { models: { name: string }[]; nextPageToken?: string };
  return { ids: shown.map(({ name }) => name.replace(/^models\//, '')), ...rest };
}

function code(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error instanceof AppError ? [error.code, error.param] : error;
  }
}

describe('lists of models', () => {
  it('have the shape of each dialect', () => {
    const one = made('agent:x', 1_768_000_000);
    expect(clientSurfaces.chat.model(one)).toEqual({
      id: 'agent:x',
      object: 'model',
      created: 1_768_000_000,
      owned_by: 'some',
    });
    expect(clientSurfaces.messages.model(one)).toEqual({
      type: 'model',
      id: 'agent:x',
      display_name: 'agent:x',
      created_at: '2026-01-09T23:06:40.000Z',
    });
    expect(clientSurfaces.gemini.model(one)).toEqual({
      name: 'models/agent:x',
      version: '1',
      displayName: 'agent:x',
      outputTokenLimit: 100,
    });
  });

  it('are OpenAI’s whole, with an empty list of models for clients that send their version', () => {
    expect(clientSurfaces.chat.models(list, {})).toEqual({
      object: 'list',
      data: models.map((model) => clientSurfaces.chat.model(model)),
    });
    expect(
      clientSurfaces.responses.models({ models, complete: false }, { client_version: '0.1' }),
    ).toMatchObject({
      has_more: true,
      models: [],
    });
  });

  it('are read by pages forwards and backwards in Anthropic’s shape', () => {
    const page = (ids: string, has_more: boolean): Page => {
      const all = Array.from(ids);
      return { ids: all, has_more, first_id: all[0] ?? null, last_id: all.at(-1) ?? null };
    };
    expect(anthropicPage({})).toEqual(page('abcde', false));
    expect(anthropicPage({ limit: '2' })).toEqual(page('ab', true));
    expect(anthropicPage({ limit: '2', after_id: 'b' })).toEqual(page('cd', true));
    expect(anthropicPage({ limit: '2', after_id: 'd' })).toEqual(page('e', false));
    expect(anthropicPage({ after_id: 'e' })).toEqual(page('', false));
    expect(anthropicPage({ limit: '2', before_id: 'e' })).toEqual(page('cd', true));
    expect(anthropicPage({ limit: '2', before_id: 'c' })).toEqual(page('ab', false));
  });

  it('are read by pages in Google’s shape', () => {
    const read: string[][] = [];
    for (let token: string | undefined = ''; token !== undefined;) {
      const { ids, nextPageToken } = googlePage(models, { pageSize: '2', pageToken: token });
      read.push(ids);
      token = nextPageToken;
    }
    expect(read).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('have 20 models on a page of Anthropic’s, 50 on one of Google’s, and never more than 1,000', () => {
    const many = Array.from({ length: 1_200 }, (_, n) => made(`m${n}`));
    const ofAnthropic = (query: ModelQuery): number =>
      (clientSurfaces.messages.models({ models: many, complete: true }, query) as { data: unknown[] }).data
        .length;
    const ofGoogle = (query: ModelQuery): number => googlePage(many, query).ids.length;
    expect([ofAnthropic({}), ofAnthropic({ limit: '1000' })]).toEqual([20, 1_000]);
    expect([ofGoogle({}), ofGoogle({ pageSize: '0' }), ofGoogle({ pageSize: '' })]).toEqual([50, 50, 50]);
    expect([ofGoogle({ pageSize: '1000' }), ofGoogle({ pageSize: '5000' })]).toEqual([1_000, 1_000]);
  });

  it('of one client ignore the parameters of another', () => {
    const others = { limit: 'all', after_id: 'x', pageSize: 'all', pageToken: '~', client_version: '1' };
    const { client_version: _version, ...notOpenAis } = others;
    expect(clientSurfaces.chat.models(list, notOpenAis)).toEqual(clientSurfaces.chat.models(list, {}));
    const { limit: _limit, after_id: _after, ...notAnthropics } = others;
    expect(clientSurfaces.messages.models(list, notAnthropics)).toEqual(
      clientSurfaces.messages.models(list, {}),
    );
    const { pageSize: _size, pageToken: _token, ...notGoogles } = others;
    expect(clientSurfaces.gemini.models(list, notGoogles)).toEqual(clientSurfaces.gemini.models(list, {}));
  });

  it.each([
    ['messages', { limit: '0' }, 'invalid_value', 'limit'],
    ['messages', { limit: '1001' }, 'invalid_value', 'limit'],
    ['messages', { limit: 'all' }, 'invalid_value', 'limit'],
    ['messages', { after_id: 'x' }, 'invalid_cursor', 'after_id'],
    ['messages', { before_id: 'x' }, 'invalid_cursor', 'before_id'],
    ['messages', { before_id: 'a', after_id: 'b' }, 'invalid_value', 'before_id'],
    ['messages', { limit: '' }, 'invalid_value', 'limit'],
    ['gemini', { pageSize: '-1' }, 'invalid_value', 'pageSize'],
    ['gemini', { pageToken: 'eA' }, 'invalid_cursor', 'pageToken'],
    ['gemini', { pageToken: '~' }, 'invalid_cursor', 'pageToken'],
  ] as const)('refuse a page that is none: %s %j', (dialect, query, expected, param) => {
    expect(code(() => clientSurfaces[dialect].models(list, query))).toEqual([expected, param]);
  });
});
