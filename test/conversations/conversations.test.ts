import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dialectNames } from '@gatehouse/contract/dialects';
import { eventually } from '@gatehouse/test/eventually';
import { TestGateway } from '@gatehouse/test/gateway';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { Random } from '@gatehouse/test/random';
import { stringify } from 'yaml';
import { chargedByGateway, chargedByProvider, price } from './ledger.ts';
import { apis, coveringWalks, pairsIn, places } from './plan.ts';
import { nameOf, play, type Conversation, type Stage } from './play.ts';

/** Conversations that change model and API at every turn, beside providers as strict as their public rules. */

const [seed = 1, only] = (process.env['CONVERSATION'] ?? '1').split(':').map(Number);
const walks = coveringWalks(new Random(seed), 4);

let folder: string;
let simulator: ProviderSimulator;
let gateway: TestGateway;
let stage: Stage;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-conversations-'));
  simulator = await startProviderSimulator({ apiKey: 'provider-key' });
  simulator.rules = 'strict';
  const models = path.join(folder, 'models.yaml');
  await writeFile(models, stringify(catalogue()));
  gateway = await TestGateway.start({ environment: { GATEHOUSE_MODELS: models } });
  stage = { url: gateway.url, key: (await gateway.makeTenant()).userKey, simulator };
});
afterAll(async () => {
  await gateway.stop();
  await simulator.close();
  await rm(folder, { recursive: true });
});

function catalogue(): object {
  const { url, baseUrl } = simulator;
  const key = { api_key_env: 'SIMULATOR_KEY', max_retries: 0 };
  const providers = [
    { name: 'openai', kind: 'openai', base_url: baseUrl, ...key },
    { name: 'anthropic', kind: 'anthropic', base_url: url, ...key },
    { name: 'google', kind: 'google', base_url: url, ...key },
  ];
  const of = { chat: 'openai', responses: 'openai', messages: 'anthropic', gemini: 'google' };
  const models = places.map(({ api, model }) => ({
    ...{ id: model, provider: of[api], price, max_output_tokens: 8_192 },
    ...(api === 'responses' && { api }),
  }));
  return { providers, models };
}

it('moves between all ordered pairs of APIs', () => {
  expect(pairsIn(walks).size).toBe(apis.length * (apis.length - 1));
});

describe.each(dialectNames)('conversations in %s', (dialect) => {
  const conversations = [false, true].flatMap((stream) =>
    walks.map((walk, number): Conversation => ({ seed, number, walk, dialect, stream })),
  );
  it.each(
    conversations
      .filter(({ number }) => only === undefined || only === number)
      .map((each) => ({ ...each, name: nameOf(each) })),
  )('$name', async (conversation) => {
    expect(await play(stage, conversation)).toBeNull();
  });
});

it('costs what the provider charges, by model and to the last digit', async () => {
  const charged = chargedByProvider(simulator.requests);
  await eventually(async () => {
    expect(await chargedByGateway(gateway, stage.key)).toEqual(charged);
  });
});
