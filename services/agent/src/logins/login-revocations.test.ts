import { expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import type { OAuthBinding } from '../mcp/oauth-binding.ts';
import { LoginRevocations } from './login-revocations.ts';

const binding = { client: { client_id: 'one' } } as OAuthBinding;

it('revokes the tokens of hundreds of logins that end at once, those of another tenant meanwhile', async () => {
  const revoked = new Map<string, number>();
  const held = Promise.withResolvers<undefined>();
  const revocations = new LoginRevocations({
    oauth: {
      revoke: async (tenantId) => {
        if (tenantId === 'slow') await held.promise;
        revoked.set(tenantId, (revoked.get(tenantId) ?? 0) + 1);
        return true;
      },
    },
    isInUse: () => Promise.resolve(false),
    log: createLogger('test', 'silent'),
  });
  const end = (tenantId: string): void =>
    revocations.revoke({ tenantId, serverId: 'server', userId: 'ann' }, () => ({
      binding,
      accessToken: 'access',
      refreshToken: null,
    }));
  for (let count = 0; count < 500; count += 1) end('slow');
  end('other');
  await eventually(() => expect(revoked).toEqual(new Map([['other', 1]])));
  held.resolve(undefined);
  await eventually(() => expect(revoked.get('slow')).toBe(500));
  await revocations.stop();
});
