import type { TenantProviderKey } from '../shared/tenant-settings.ts';
import type { Model } from './catalogue.ts';
import type { Target } from './target.ts';

/**
 * The target with the models of one payer: the tenant where it has a key of its own for a deployment of the first model,
 * else the platform. So no failure of a key of the tenant costs the platform a call, and no budget counts a run in part.
 */
export function forOnePayer(
  target: Target,
  { keys, userId }: { keys: readonly TenantProviderKey[]; userId: string | null },
): Target {
  if (keys.length === 0) return target;
  const choices = target.chain.map((model) => ({ model, key: ownKeyFor(model, keys, userId) }));
  const [first] = target.chain;
  const isOwn = choices.some(({ model, key }) => model.id === first.id && key !== null);
  const [one, ...others] = choices.filter(({ key }) => (key !== null) === isOwn);
  // The first model has a deployment of its payer.
  if (one === undefined) return target;
  const chain = [one.model, ...others.map(({ model }) => model)] as const;
  if (!isOwn) return { ...target, chain };
  const ownKeys = new Map(choices.flatMap(({ model, key }) => (key === null ? [] : [[model, key] as const])));
  return { ...target, chain, ownKeys };
}

/** The key of a tenant for a model: one for the user before one for all, then the newest. */
function ownKeyFor(
  { id, provider }: Model,
  keys: readonly TenantProviderKey[],
  userId: string | null,
): TenantProviderKey | null {
  const fitting = keys.filter(
    (key) =>
      key.provider === provider.name &&
      (key.userId === null || key.userId === userId) &&
      (key.models?.has(id) ?? true),
  );
  return fitting.find((key) => key.userId !== null) ?? fitting[0] ?? null;
}
