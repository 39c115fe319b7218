import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { dialects } from '@gatehouse/dialects/dialects';
import { estimateTokens, sampleOf } from '@gatehouse/dialects/usage/token-estimate';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { modelTarget } from '../catalogue/target.ts';
import { CountedPrompts, limitsTokens, type CountedPrompt } from './counted-prompts.ts';
import { lastingTexts, mostTokens } from './upper-bounds.ts';
import { attachmentTokens, countedPromptBytes } from '../bounds.ts';

const provider = { kind: 'openai', base_url: 'http://localhost/v1' };
const catalogue = Catalogue.parse({
  providers: [
    { ...provider, name: 'p' },
    { ...provider, name: 'q' },
  ],
  models: [
    { id: 'm', provider: 'p' },
    { id: 'at-two', deployments: [{ provider: 'p' }, { provider: 'q' }] },
    { id: 'other', provider: 'p' },
  ],
});

interface Ask {
  prompt: CountedPrompt;
  model: Model;
  /** Input tokens at most, for each deployment. */
  most: number[];
}

type Message = Record<string, unknown>;
type Fields = Record<string, unknown>;

class Replica {
  readonly #prompts = new CountedPrompts();
  readonly #tenantId = newId();

  /** Asks with the text of a body. */
  askText(text: string, dialect: 'chat' | 'messages' = 'messages'): Ask | null {
    const request = dialects[dialect].readRequest('chat', Buffer.from(text), JSON.parse(text));
    const parts = request.promptParts();
    if (parts === null) return null;
    const target = { ...modelTarget(catalogue, 'm', null), systemPrompt: null };
    const options = { tenantId: this.#tenantId, dialect, headers: {}, parts };
    const prompt = this.#prompts.prompt({ ...options, added: lastingTexts(target, null) });
    const most = mostTokens(request, target, {}, { prompt }).map(({ input }) => input);
    return { prompt, model: target.chain[0], most };
  }

  ask(
    messages: readonly Message[],
    fields: Fields = {},
    {
      model: name = 'm',
      headers = {},
      tenantId = this.#tenantId,
      systemPrompt = null,
    }: {
      model?: string;
      headers?: Record<string, string>;
      tenantId?: string;
      systemPrompt?: string | null;
    } = {},
  ): Ask {
    const body = { model: name, max_tokens: 100, messages, ...fields };
    const request = dialects.messages.readRequest('chat', Buffer.from(JSON.stringify(body)), body);
    const parts = request.promptParts();
    if (parts === null) throw new Error('the prompt has no parts');
    const target = { ...modelTarget(catalogue, name, null), systemPrompt };
    const options = { tenantId, dialect: 'messages', headers, parts } as const;
    const prompt = this.#prompts.prompt({ ...options, added: lastingTexts(target, null) });
    const most = mostTokens(request, target, headers, { prompt }).map(({ input }) => input);
    return { prompt, model: target.chain[0], most };
  }
}

const user = (content: unknown): Message => ({ role: 'user', content });
const assistant = (content: unknown): Message => ({ role: 'assistant', content });
const prose = 'The portcullis is lowered at dusk, and raised by the guard at dawn. '.repeat(60);
const system = 'You are a careful programmer. '.repeat(400);

describe('the most that a prompt comes to, once a provider has counted its beginning', () => {
  it('is the count, with a token for each byte behind it', () => {
    const replica = new Replica();
    const first = replica.ask([user(prose)], { system });
    expect(first.most[0]).toBeGreaterThan(15_000);
    first.prompt.note(first.model, 3_500);
    const further = [assistant('Done.'), user('And now?')];
    const second = replica.ask([user(prose), ...further], { system });
    const added = JSON.stringify(further).length;
    expect(second.most[0]).toBeGreaterThanOrEqual(3_500 + added - 10);
    // The rest of the request is its other members.
    expect(second.most[0]).toBeLessThan(3_500 + added + 100);
  });

  it('counts a changed message, and all behind it, by their bytes', () => {
    const replica = new Replica();
    const history = [user(prose), assistant(prose), user('And now?')];
    const first = replica.ask(history, { system });
    first.prompt.note(first.model, 4_500);
    const changed = replica.ask([user(prose), assistant(`${prose}!`), user('And now?')], { system });
    // Only the part before the messages is known.
    expect(changed.most[0]).toBeGreaterThan(4_500 + 2 * prose.length);
    expect(changed.most[0]).toBeLessThan(first.most[0] ?? 0);
  });

  it('knows the tools and the system prompt of a further session', () => {
    const replica = new Replica();
    const first = replica.ask([user('Hi')], { system });
    first.prompt.note(first.model, 2_500);
    const other = replica.ask([user('Something else')], { system });
    expect(other.most[0]).toBeLessThan(2_700);
    // A longer first message makes no bound of the others higher.
    const long = replica.ask([user(prose)], { system });
    long.prompt.note(long.model, 4_000);
    expect(replica.ask([user('A third one')], { system }).most[0]).toBeLessThan(2_700);
  });

  it('counts a repetition of a system text, which the provider has counted once', () => {
    const replica = new Replica();
    const block = { type: 'text', text: system };
    const first = replica.ask([user('Hi')], { system: [block] });
    first.prompt.note(first.model, 2_500);
    const [most = 0] = replica.ask([user('Hi')], { system: [block, block, block] }).most;
    expect(most).toBeGreaterThan(2_500 + 2 * system.length);
  });

  it('counts a picture as it was counted, and one behind an address again', () => {
    const replica = new Replica();
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(50_000) };
    const picture = user([{ type: 'image', source }]);
    const linked = user([{ type: 'image', source: { type: 'url', url: 'https://pictures.example/1' } }]);
    const first = replica.ask([picture]);
    first.prompt.note(first.model, 1_500);
    expect(replica.ask([picture, assistant('A cat.'), user('Sure?')]).most[0]).toBeLessThan(1_800);
    const other = replica.ask([linked]);
    other.prompt.note(other.model, 1_500);
    const [most = 0] = replica.ask([linked, assistant('A cat.'), user('Sure?')]).most;
    expect(most).toBeGreaterThan(1_500 + attachmentTokens);
    // A file of many pages has more tokens than are counted for a picture without a count.
    const pages = user([{ type: 'document', source: { ...source, media_type: 'application/pdf' } }]);
    const read = replica.ask([pages]);
    read.prompt.note(read.model, 200_000);
    expect(replica.ask([pages, assistant('Read.'), user('Sum it up')]).most[0]).toBeGreaterThan(200_000);
  });

  it('is another one for each tenant, model and header', () => {
    const replica = new Replica();
    const history = [user(prose)];
    const [unknown] = replica.ask(history).most;
    const first = replica.ask(history);
    first.prompt.note(first.model, 1_000);
    expect(replica.ask(history).most[0]).toBeLessThan(1_100);
    expect(replica.ask(history, {}, { tenantId: newId() }).most).toEqual([unknown]);
    expect(replica.ask(history, {}, { headers: { 'anthropic-beta': 'x' } }).most).toEqual([unknown]);
    // The name of the model is longer.
    expect(replica.ask(history, {}, { model: 'other' }).most[0]).toBeGreaterThanOrEqual(unknown ?? 0);
  });

  it('counts what a model wrote again at another deployment, which may get its reasoning', () => {
    const replica = new Replica();
    const history = [user(prose), assistant(prose), user('And now?')];
    const options = { model: 'at-two' };
    const first = replica.ask(history, {}, options);
    first.prompt.note(first.model, 2_000);
    const [own = 0, other = 0] = replica.ask(history, {}, options).most;
    expect(own).toBeLessThan(2_200);
    expect(other).toBeGreaterThan(2_000 + prose.length);
    expect(other).toBeLessThan(2_300 + prose.length);
  });

  it('counts a changed prompt of an agent by its bytes', () => {
    const replica = new Replica();
    const first = replica.ask([user('Hi')], {}, { systemPrompt: prose });
    first.prompt.note(first.model, 1_000);
    expect(replica.ask([user('Hi')], {}, { systemPrompt: prose }).most[0]).toBeLessThan(1_100);
    const [most = 0] = replica.ask([user('Hi')], {}, { systemPrompt: `${prose}!` }).most;
    expect(most).toBeGreaterThan(prose.length);
  });
});

describe('a prompt counted where its provider did not read it', () => {
  const tiny = JSON.stringify([user('hi')]);
  const long = JSON.stringify([user(prose)]);
  const body = (members: string): string => `{"model":"m","max_tokens":100,${members}}`;

  /** The most of a request once another one was counted. */
  function mostAfter(before: Ask | null, tokens: number, ask: () => Ask | null): number {
    before?.prompt.note(before.model, tokens);
    return ask()?.most[0] ?? Infinity;
  }

  it('covers nothing in another member', () => {
    const replica = new Replica();
    const tools = JSON.stringify([{ type: 'function', function: { name: 'f', description: prose } }]);
    const ignored = replica.askText(body(`"messages":${tiny},"system":${tools}`), 'chat');
    const asked = (): Ask | null => replica.askText(body(`"messages":${tiny},"tools":${tools}`), 'chat');
    expect(mostAfter(ignored, 9, asked)).toBeGreaterThan(prose.length);
    // In the same member it does.
    expect(mostAfter(asked(), 900, asked)).toBeLessThan(1_100);
  });

  it('covers nothing in another API', () => {
    const replica = new Replica();
    const text = body(`"messages":${tiny},"system":${JSON.stringify(prose)}`);
    const asked = (): Ask | null => replica.askText(text);
    expect(mostAfter(replica.askText(text, 'chat'), 9, asked)).toBeGreaterThan(prose.length);
    expect(mostAfter(asked(), 900, asked)).toBeLessThan(1_100);
  });

  it('covers nothing of a member written twice', () => {
    const replica = new Replica();
    const twice = replica.askText(body(`"messages":${long},"messages":${tiny}`));
    const asked = (): Ask | null => replica.askText(body(`"messages":${long}`));
    expect(mostAfter(twice, 8, asked)).toBeGreaterThan(prose.length);
  });

  it('covers nothing cut by a provider to make room for a longer answer', () => {
    const replica = new Replica();
    const asked = (tokens: number) => (): Ask | null =>
      replica.askText(`{"model":"m","max_tokens":${tokens},"messages":${long}}`);
    expect(mostAfter(asked(100_000)(), 8, asked(100))).toBeGreaterThan(prose.length);
  });

  it('covers no marks for a cache, which move', () => {
    const replica = new Replica();
    const mark = { cache_control: { type: 'ephemeral' } };
    const values = (marked: boolean): unknown[] =>
      Array.from({ length: 200 }, () => ({ a: 1, ...(marked && mark) }));
    const history = (marked: boolean): Message[] => [
      assistant([{ type: 'tool_use', id: 'a', name: 'f', input: { values: values(marked) } }]),
    ];
    const first = replica.ask(history(false));
    first.prompt.note(first.model, 900);
    const added = JSON.stringify(history(true)).length - JSON.stringify(history(false)).length;
    expect(replica.ask(history(true)).most[0]).toBeGreaterThan(900 + added);
  });

  it('covers no member of a message at another deployment, which may read it', () => {
    const replica = new Replica();
    const history = [{ ...user('hi'), of_no_api: prose }];
    const first = replica.ask(history, {}, { model: 'at-two' });
    first.prompt.note(first.model, 9);
    const [, other] = replica.ask(history, {}, { model: 'at-two' }).most;
    expect(other).toBeGreaterThan(prose.length);
  });
});

it('keeps the counts of a tenant when others have many', () => {
  const replica = new Replica();
  const first = replica.ask([user(prose)]);
  first.prompt.note(first.model, 1_000);
  const tenantId = newId();
  const { prompt, model } = replica.ask([user('Hi')], {}, { tenantId });
  for (let noted = 0; noted < countedPromptBytes.maxBytes / 400; noted += 1)
    prompt.note({ ...model, upstreamModel: `m${noted}` }, 10);
  expect(replica.ask([user(prose)]).most[0]).toBeLessThan(1_100);
});

describe('the bound of an edited history', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(
      '    '.repeat(20),
      'Hello',
      ' world',
      'portcullis '.repeat(5),
      '你好，世界',
      '1234567890',
    ),
  );
  const messages = fc.array(fc.tuple(fc.constantFrom('user', 'assistant'), texts), {
    minLength: 1,
    maxLength: 8,
  });
  const edits = fc.record({
    kept: fc.nat(8),
    further: messages,
    system: fc.array(texts, { maxLength: 4 }),
  });

  /** As a provider counts: each text apart, and some tokens around each. */
  async function tokensOf(asked: readonly Message[], blocks: readonly string[]): Promise<number> {
    const all = [...blocks, ...asked.map(({ content }) => String(content))];
    const counts = await Promise.all(all.map((text) => estimateTokens(sampleOf(text), 'tenant')));
    return counts.reduce((sum, count) => sum + count + 4, 3);
  }

  it('is never below the count of a tokenizer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(edits, { minLength: 1, maxLength: 6 }), async (steps) => {
        const replica = new Replica();
        let history: Message[] = [];
        for (const { kept, further, system: blocks } of steps) {
          history = [...history.slice(0, kept), ...further.map(([role, content]) => ({ role, content }))];
          const asked = replica.ask(history, { system: blocks.map((text) => ({ type: 'text', text })) });
          const tokens = await tokensOf(history, blocks);
          expect(asked.most[0]).toBeGreaterThanOrEqual(tokens);
          asked.prompt.note(asked.model, tokens);
        }
      }),
    );
  });
});

it('counts prompts where a limit depends on tokens', () => {
  const none = { limited: [Resource.REQUESTS], keyLimited: [], policies: null };
  const settings = { ...none, allowedModels: null } as unknown as Parameters<typeof limitsTokens>[0];
  expect(limitsTokens(settings)).toBe(false);
  expect(limitsTokens({ ...settings, limited: [Resource.BUDGET] })).toBe(true);
  expect(limitsTokens({ ...settings, keyLimited: [Resource.TOKENS] })).toBe(true);
});
