import { generateKeyPairSync } from 'node:crypto';
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
  const models = await writeCatalogue(folder, simulator);
  const gateway = await TestGateway.start({ environment: { GATEHOUSE_MODELS: models } });
  const close = async (): Promise<void> => {
    await gateway.stop();
    await simulator.close();
    await rm(folder, { recursive: true });
  };
  return { gateway, simulator, close };
}

/** Writes the catalogue of conversations into a folder, and returns its path. The key is in `SIMULATOR_KEY`. */
export async function writeCatalogue(folder: string, simulator: ProviderSimulator): Promise<string> {
  const [models, account] = [path.join(folder, 'models.yaml'), path.join(folder, 'account.json')];
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const credentials = {
    ...{ type: 'service_account', client_email: 'gateway@project.iam.gserviceaccount.com' },
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${simulator.url}/control/token`,
  };
  await writeFile(account, JSON.stringify(credentials));
  await writeFile(models, stringify(catalogueOf(simulator, account)));
  return models;
}

/** Providers of all APIs at the simulator, with the models of conversations. */
function catalogueOf({ url, baseUrl }: ProviderSimulator, account: string): object {
  const key = { api_key_env: 'SIMULATOR_KEY', max_retries: 0 };
  const providers = [
    { name: 'openai', kind: 'openai', base_url: baseUrl, ...key },
    { name: 'anthropic', kind: 'anthropic', base_url: url, ...key },
    { name: 'bedrock', kind: 'bedrock', region: 'us-east-1', base_url: url, ...key },
    {
      ...{ name: 'vertex', kind: 'vertex', project: 'project', region: 'global', base_url: baseUrl },
      ...{ credentials_file: account, max_retries: 0 },
    },
    { name: 'google', kind: 'google', base_url: url, ...key },
  ];
  const of = {
    chat: 'openai',
    responses: 'openai',
    messages: 'anthropic',
    gemini: 'google',
    converse: 'bedrock',
  };
  const models = places.map(({ api, model, upstream = model, host, family }) => ({
    ...{ id: model, upstream_model: upstream, provider: host ?? of[api], price, max_output_tokens: 8_192 },
    ...(family !== undefined && { family }),
    ...((api === 'responses' || host !== undefined) && { api }),
  }));
  return { providers, models };
}
