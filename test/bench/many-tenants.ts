import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';
import type { Gateway } from './contest.ts';
import type { Target } from './load.ts';

export type Targets = readonly [Target, ...Target[]];

let made = 0;

/** Makes so many tenants with a key each, and what `more` makes with the key. Returns a target of each. */
export async function makeTenants(
  { credentials, target }: Gateway,
  count: number,
  more: (client: GatewayClient, key: string) => Promise<void> = () => Promise.resolve(),
): Promise<Targets> {
  const client = new GatewayClient(target.url);
  const targets: Target[] = [];
  const last = made + count;
  const worker = async (): Promise<void> => {
    while (made < last) {
      const slug = `bench-${(made += 1)}`;
      const path = '/internal/v1/owner/tenants';
      const answer = await client.call(credentials.owner_key, 'POST', path, { slug, name: slug });
      const { admin_key: key = '' } = expectSuccess(answer, 'making a tenant') as Record<string, string>;
      await more(client, key);
      targets.push({ ...target, headers: { authorization: `Bearer ${key}` } });
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  const [first, ...others] = targets;
  if (first === undefined) throw new Error('there is no tenant');
  return [first, ...others];
}
