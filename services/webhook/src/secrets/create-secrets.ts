import { PeriodicWork } from '@gatehouse/kit/background-loop';
import type { Pool } from '@gatehouse/pg/pool';
import type { KeyRing } from '@gatehouse/secrets/key-ring';
import type { Shell } from '@gatehouse/shell/shell';
import { forgetSecrets } from './secret-store.ts';
import { WebhookSecrets } from './webhook-secrets.ts';

const forgottenEveryMs = 60_000;

/** Secrets of endpoints, subscriptions and channels. */
export function createSecrets(
  { log }: Shell,
  { app, system, keyRing }: { app: Pool; system: Pool; keyRing: KeyRing },
) {
  return {
    parts: [
      new PeriodicWork({
        task: 'delete replaced secrets',
        log,
        everyMs: forgottenEveryMs,
        round: () => forgetSecrets({ app, system }),
      }),
    ],
    secrets: new WebhookSecrets(keyRing),
  };
}
