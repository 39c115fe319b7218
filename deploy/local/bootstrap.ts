import type { Credentials } from './credentials.ts';
import { expectSuccess, type GatewayClient } from './gateway-client.ts';

export interface BootstrapOptions {
  gateway: GatewayClient;
  url: string;
  /** What an earlier start got to. */
  known: Partial<Credentials>;
  /** Makes an owner key and returns its text. */
  createOwnerKey: () => Promise<string>;
  /** Called after each step, so that the next start can go on from there. */
  keep: (known: Partial<Credentials>) => Promise<void>;
  log: (message: string) => void;
}

const tenantSlug = 'demo';
const agentKey = 'assistant';

/**
 * Owner key, demo tenant with an admin and a user key, demo agent: each step is taken only where its result is missing
 * or no longer valid, so this works for the first start, for any later one and after an interruption at any point.
 */
export async function bootstrap(options: BootstrapOptions): Promise<Credentials> {
  const { gateway } = options;
  let known = options.known;
  const keep = async (more: Partial<Credentials>): Promise<void> => {
    known = { ...known, ...more };
    await options.keep(known);
  };

  const ownerKey = await validKey(gateway, known.owner_key, options.createOwnerKey);
  if (ownerKey !== known.owner_key) await keep({ owner_key: ownerKey });

  const adminKey = await validKey(gateway, known.admin_key, async () => {
    const { admin_key: made, ...tenant } = await demoTenant(gateway, ownerKey);
    await keep({ ...tenant, admin_key: made });
    return made;
  });
  const userKey = await validKey(gateway, known.user_key, () => createUserKey(gateway, adminKey));
  if (userKey !== known.user_key) await keep({ user_key: userKey });

  await demoAgent(options, adminKey);
  return {
    url: options.url,
    owner_key: ownerKey,
    tenant_id: known.tenant_id ?? '',
    tenant_slug: known.tenant_slug ?? '',
    admin_key: adminKey,
    user_key: userKey,
    agent_key: agentKey,
  };
}

/** The key if the gateway still knows it; one that may do nothing just now (its tenant is suspended) is still a key. */
async function validKey(
  gateway: GatewayClient,
  key: string | undefined,
  create: () => Promise<string>,
): Promise<string> {
  if (key !== undefined && (await gateway.call(key, 'GET', '/v1/whoami')).status !== 401) return key;
  return create();
}

type DemoTenant = Pick<Credentials, 'tenant_id' | 'tenant_slug' | 'admin_key'>;

async function demoTenant(gateway: GatewayClient, ownerKey: string): Promise<DemoTenant> {
  const tenants = '/internal/v1/owner/tenants';
  const reply = await gateway.call(ownerKey, 'POST', tenants, { slug: tenantSlug, name: 'Demo' });
  if (reply.status !== 409) {
    const made = expectSuccess(reply, 'Creating the demo tenant');
    return { tenant_id: String(made['id']), tenant_slug: tenantSlug, admin_key: String(made['admin_key']) };
  }
  // It is there, but its key was lost: the owner makes another.
  const list = await gateway.call(ownerKey, 'GET', `${tenants}?q=${tenantSlug}&limit=200`);
  const { data } = expectSuccess(list, 'Listing the tenants') as { data: { id: string; slug: string }[] };
  const tenant = data.find(({ slug }) => slug === tenantSlug);
  if (tenant === undefined) throw new Error(`There is no tenant ${tenantSlug}, and its name is taken.`);
  const key = await gateway.call(ownerKey, 'POST', '/internal/v1/owner/api-keys', {
    name: 'Demo admin',
    role: 'admin',
    tenant_id: tenant.id,
  });
  const made = expectSuccess(key, 'Creating the admin key of the demo tenant');
  return { tenant_id: tenant.id, tenant_slug: tenantSlug, admin_key: String(made['key']) };
}

async function createUserKey(gateway: GatewayClient, adminKey: string): Promise<string> {
  const reply = await gateway.call(adminKey, 'POST', '/v1/api-keys', { name: 'Demo user', role: 'user' });
  return String(expectSuccess(reply, 'Creating the user key of the demo tenant')['key']);
}

/** Makes the demo agent, or gives it a model again whose own has left the catalogue. */
async function demoAgent(options: BootstrapOptions, adminKey: string): Promise<void> {
  const { gateway, log } = options;
  const path = `/v1/agents/${agentKey}`;
  const found = await gateway.call(adminKey, 'GET', path);
  if (found.status === 403) {
    log(`the demo agent was not looked at: ${JSON.stringify(found.body['error'])}`);
    return;
  }
  const models = await modelsOf(gateway, adminKey);
  const [model] = models;
  if (model === undefined) throw new Error('The catalogue has no model that the demo tenant may use.');
  if (found.status === 404) {
    const agent = {
      key: agentKey,
      name: 'Assistant',
      description: 'The demo agent that "make up" has made.',
      model,
      system_prompt: 'You are a helpful assistant. Answer briefly.',
    };
    expectSuccess(await gateway.call(adminKey, 'POST', '/v1/agents', agent), 'Creating the demo agent');
    return;
  }
  const agent = expectSuccess(found, 'Reading the demo agent');
  if (models.includes(String(agent['model']))) return;
  log(`the demo agent's model ${String(agent['model'])} is not in the catalogue any more; it gets ${model}`);
  expectSuccess(await gateway.call(adminKey, 'PATCH', path, { model }), 'Changing the demo agent');
}

/** In the order of the catalogue, which is the order of the list; agents are in that list too. */
async function modelsOf(gateway: GatewayClient, adminKey: string): Promise<string[]> {
  const list = expectSuccess(await gateway.call(adminKey, 'GET', '/v1/models'), 'Listing the models');
  const { data } = list as { data: { id: string }[] };
  return data.map(({ id }) => id).filter((id) => !id.startsWith('agent:'));
}
