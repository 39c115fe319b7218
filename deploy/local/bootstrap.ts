import type { LocalCredentials } from './credentials.ts';
import { expectSuccess, type GatewayClient } from './gateway-client.ts';

export interface BootstrapOptions {
  gateway: GatewayClient;
  url: string;
  /** Credentials of earlier starts. */
  known: Partial<LocalCredentials>;
  /** Creates an owner key and returns its text. */
  createOwnerKey: () => Promise<string>;
  /** Called after each step, so the next start can continue from there. */
  keep: (known: Partial<LocalCredentials>) => Promise<void>;
  log: (message: string) => void;
}

const tenantSlug = 'demo';
const agentKey = 'assistant';

/**
 * Creates the owner key, the demo tenant with an admin and a user key, and the demo agent. Skips each step with an
 * existing and valid result, so it works for the first start, for later ones and after an interruption at any point.
 */
export async function bootstrap(options: BootstrapOptions): Promise<LocalCredentials> {
  const { gateway } = options;
  let known = options.known;
  const keep = async (more: Partial<LocalCredentials>): Promise<void> => {
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

/**
 * Returns the key if it is still valid, otherwise creates one. A key refused for another reason, like a suspended
 * tenant, counts as valid.
 */
async function validKey(
  gateway: GatewayClient,
  key: string | undefined,
  create: () => Promise<string>,
): Promise<string> {
  if (key !== undefined && (await gateway.call(key, 'GET', '/v1/whoami')).status !== 401) return key;
  return create();
}

type DemoTenant = Pick<LocalCredentials, 'tenant_id' | 'tenant_slug' | 'admin_key'>;

async function demoTenant(gateway: GatewayClient, ownerKey: string): Promise<DemoTenant> {
  const tenants = '/internal/v1/owner/tenants';
  const reply = await gateway.call(ownerKey, 'POST', tenants, { slug: tenantSlug, name: 'Demo' });
  if (reply.status !== 409) {
    const made = expectSuccess(reply, 'Creating the demo tenant');
    return { tenant_id: String(made['id']), tenant_slug: tenantSlug, admin_key: String(made['admin_key']) };
  }
  // The tenant exists, but its key was lost: creates another one with the owner key.
  const list = await gateway.call(ownerKey, 'GET', `${tenants}?q=${tenantSlug}&limit=200`);
  const { data } = expectSuccess(list, 'Listing the tenants') as { data: { id: string; slug: string }[] };
  const tenant = data.find(({ slug }) => slug === tenantSlug);
  if (tenant === undefined)
    throw new Error(`The slug ${tenantSlug} is taken, but no tenant with it was found.`);
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

/** Creates the demo agent; gives an existing one another model if its model has left the catalogue. */
async function demoAgent(options: BootstrapOptions, adminKey: string): Promise<void> {
  const { gateway, log } = options;
  const path = `/v1/agents/${agentKey}`;
  const listed = await gateway.call(adminKey, 'GET', path);
  if (listed.status === 403) {
    log(`skipped the demo agent: ${JSON.stringify(listed.body['error'])}`);
    return;
  }
  const models = await modelsOf(gateway, adminKey);
  const [model] = models;
  if (model === undefined) throw new Error('The catalogue has no model that the demo tenant may use.');
  if (listed.status === 404) {
    const agent = {
      key: agentKey,
      name: 'Assistant',
      description: 'The demo agent, created by "make up".',
      model,
      system_prompt: 'You are a helpful assistant. Answer briefly.',
    };
    expectSuccess(await gateway.call(adminKey, 'POST', '/v1/agents', agent), 'Creating the demo agent');
    return;
  }
  const agent = expectSuccess(listed, 'Reading the demo agent');
  if (models.includes(String(agent['model']))) return;
  log(
    `the model ${String(agent['model'])} of the demo agent is no longer in the catalogue; changing it to ${model}`,
  );
  expectSuccess(await gateway.call(adminKey, 'PATCH', path, { model }), 'Changing the demo agent');
}

/** Returns the models in catalogue order, without agents, which are in the same list. */
async function modelsOf(gateway: GatewayClient, adminKey: string): Promise<string[]> {
  const list = expectSuccess(await gateway.call(adminKey, 'GET', '/v1/models'), 'Listing the models');
  const { data } = list as { data: { id: string }[] };
  return data.map(({ id }) => id).filter((id) => !id.startsWith('agent:'));
}
