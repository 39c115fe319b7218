import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TestGateway } from '@gatehouse/test/gateway';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { stringify } from 'yaml';
import { price } from './ledger.ts';
import { places } from './plan.ts';

/** A gateway in this process, and the strict providers of its catalogue. */
export interface Theatre {
  gateway: TestGateway;
  simulator: ProviderSimulator;
  close: () => Promise<void>;
}

/** Starts the gateway and its providers. */
export async function openTheatre(): Promise<Theatre> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-conversations-'));
  const simulator = await startProviderSimulator({ apiKey: 'provider-key' });
  simulator.rules = 'strict';
  const models = path.join(folder, 'models.yaml');
  await writeFile(models, stringify(catalogueOf(simulator)));
  const gateway = await TestGateway.start({ environment: { GATEHOUSE_MODELS: models } });
  const close = async (): Promise<void> => {
    await gateway.stop();
    await simulator.close();
    await rm(folder, { recursive: true });
  };
  return { gateway, simulator, close };
}

/** Providers of all APIs at the simulator, with the models of conversations. */
function catalogueOf({ url, baseUrl }: ProviderSimulator): object {
  const key = { api_key_env: 'SIMULATOR_KEY', max_retries: 0 };
  const providers = [
    { name: 'openai', kind: 'openai', base_url: baseUrl, ...key },
    { name: 'anthropic', kind: 'anthropic', base_url: url, ...key },
    { name: 'bedrock', kind: 'bedrock', region: 'us-east-1', base_url: url, ...key },
    { name: 'google', kind: 'google', base_url: url, ...key },
  ];
  const of = {
    chat: 'openai',
    responses: 'openai',
    messages: 'anthropic',
    gemini: 'google',
    converse: 'bedrock',
  };
  const models = places.map(({ api, model, upstream = model, host }) => ({
    ...{ id: model, upstream_model: upstream, provider: host ?? of[api], price, max_output_tokens: 8_192 },
    ...((api === 'responses' || host !== undefined) && { api }),
  }));
  return { providers, models };
}
