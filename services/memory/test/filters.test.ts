import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withTenant } from '@gatehouse/pg/pool';
import type { MemoryKey } from '../src/shared/memory-key.ts';
import { MemorySearch, noFilter, type PassageIndex, type SearchFilter } from '../src/search/search.ts';
import { putDocument } from '../src/store/documents/document-store.ts';
import { normalised } from '../src/search/vectors.ts';
import { StoredVectors } from './stored-vectors.ts';

let stored: StoredVectors;
beforeAll(async () => {
  stored = await StoredVectors.prepare();
});
afterAll(() => stored.stop());

/** How many candidates a search looked at, in each round. */
const looked: number[] = [];
const recording: PassageIndex = {
  state: (key) => stored.search.state(key),
  read: (key, inside) =>
    stored.search.read(key, (view) =>
      inside({
        ...view,
        select: (candidates, which) => {
          looked.push(candidates.length);
          return view.select(candidates, which);
        },
      }),
    ),
};
const upkeep = {
  noteModel: () => Promise.resolve(),
  noteAnalyser: () => Promise.resolve(),
  copyVectors: () => Promise.resolve(),
};

async function put(key: MemoryKey, path: string, texts: readonly string[], metadata = {}): Promise<void> {
  const passages = texts.map((text, index) => ({ startLine: index, endLine: index, context: '', text }));
  const source = { kind: 'api', run_id: null, session_id: null } as const;
  const document = { path, userId: '', title: null, metadata, source, text: '', passages, at: new Date() };
  await withTenant(stored.pool, key.tenantId, (db) => putDocument(db, key, document));
}

async function search(
  key: MemoryKey,
  filter: Partial<SearchFilter>,
  { mode = 'lexical' }: { mode?: 'lexical' | 'semantic' } = {},
): Promise<string[]> {
  looked.length = 0;
  const asked = {
    users: [''],
    query: 'duck',
    limit: 3,
    mode,
    filter: { ...noFilter, ...filter },
    minScore: 0,
  };
  const { results } = await new MemorySearch(recording, upkeep).run(key, asked, () =>
    Promise.resolve({ model: 'm', vector: [1, 0] }),
  );
  return results.map(({ path }) => path);
}

describe('a filter among 8,000 passages', () => {
  let key: MemoryKey;
  beforeAll(async () => {
    key = stored.makeAgent();
    const ducks = Array.from({ length: 2_000 }, (_, n) => `duck ${n}`);
    for (const name of ['a', 'b', 'c', 'd']) await put(key, `ponds/${name}`, ducks, { kind: 'pond' });
    await put(key, 'needle', [`A duck and ${'other words '.repeat(50)}`], { kind: 'lake' });
    await put(key, 'needles/2', ['one more duck in a longer text'], { kind: 'lake' });
  });

  it.each([
    ['path', { pathPrefix: 'needle' }, ['needles/2', 'needle']],
    ['metadata', { metadata: { kind: 'lake' } }, ['needles/2', 'needle']],
    ['path and metadata', { pathPrefix: 'needles/', metadata: { kind: 'lake' } }, ['needles/2']],
    ['nothing', { pathPrefix: 'needle%' }, []],
  ])('that few pass, by %s, looks at these alone', async (_what, filter, paths) => {
    expect(await search(key, filter)).toEqual(paths);
    expect(looked).toEqual([paths.length]);
  });

  it('that most pass, looks at the best passages alone', async () => {
    expect(await search(key, { metadata: { kind: 'pond' } })).toHaveLength(3);
    expect(looked).toEqual([9]);
  });

  it('has paths with any characters behind the prefix', async () => {
    const own = stored.makeAgent();
    await put(own, 'p/\u{10ffff}\u{10ffff}z', ['duck']);
    await put(own, 'p0', ['duck']);
    expect(await search(own, { pathPrefix: 'p/' })).toEqual(['p/\u{10ffff}\u{10ffff}z']);
  });
});

it('finds passages behind many better ones where neither few pass nor the best ones', async () => {
  const key = stored.makeAgent();
  const texts = (text: string) => Array.from({ length: 2_000 }, () => text);
  for (const name of ['a', 'b', 'c']) await put(key, `worse/${name}`, texts('a duck with some more words'));
  await put(key, 'better', texts('duck'));
  expect(await search(key, { pathPrefix: 'worse' })).toHaveLength(3);
  expect(looked).toEqual([9, 1_000, 9]);
});

it('finds the closest of few passages behind others, and those of many that a filter lets through', async () => {
  const key = stored.makeAgent();
  const near = normalised([1, 0.01]);
  const far = normalised([1, 1]);
  await stored.add(key, [far, near]);
  await stored.add(
    key,
    Array.from({ length: 6_000 }, () => normalised([1, 0])),
  );
  const semantic = { mode: 'semantic' } as const;
  expect(await search(key, { pathPrefix: 'document 0' }, semantic)).toEqual(['document 0', 'document 0']);
  expect(await search(key, { pathPrefix: 'document' }, semantic)).toHaveLength(3);
  expect(await search(key, { pathPrefix: 'document 2' }, semantic)).toEqual([
    'document 2',
    'document 2',
    'document 2',
  ]);
  expect(await search(key, { since: '2999-01-01T00:00:00Z' }, semantic)).toEqual([]);
});
