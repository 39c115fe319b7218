import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import { resealing } from '@gatehouse/secrets/resealing';
import type { Shell } from '@gatehouse/shell/shell';
import { webhookSecretsToReseal } from './reseal.ts';
import { forgetSecrets, replaceSealed } from './secret-store.ts';
import { countSealedSecrets, findStaleSecrets } from './secret-system-store.ts';
import { WebhookSecrets } from './webhook-secrets.ts';

const forgottenEveryMs = 60_000;

/** Secrets of endpoints, subscriptions and channels. */
export function createSecrets(
  { log, registry }: Shell,
  {
    app,
    system,
    keyRing,
  }: {
    app: Pool;
    system: Pool;
    keyRing: KeyRing;
  },
) {
  const secrets = new WebhookSecrets(keyRing);
  return {
    parts: [
      resealing(
        webhookSecretsToReseal(secrets, {
          find: (prefix, limit) => findStaleSecrets(system, prefix, limit),
          replace: (found, again) => replaceSealed(app, found, again),
          log,
        }),
        { keyRing, registry, count: (prefix) => countSealedSecrets(system, prefix) },
      ),
      new PeriodicWork({
        task: 'delete replaced secrets',
        log,
        everyMs: forgottenEveryMs,
        round: () => forgetSecrets({ app, system }),
      }),
    ],
    secrets,
  };
}
