import { expect, it } from '@jest/globals';
import { environmentOf } from './environment.ts';

it("prefers a service's own value, and needs no addresses of neighbours", () => {
  const given = {
    LOG_LEVEL: 'info',
    DATABASE_URL_CHAT: 'postgres://chat',
    DATABASE_URL_AGENT: 'postgres://agent',
  };
  const chat = environmentOf('chat', ['chat', 'agent'], given);
  expect(chat).toMatchObject({ LOG_LEVEL: 'info', DATABASE_URL: 'postgres://chat', DATABASE_POOL: '2' });
  expect(chat['AGENT_GRPC']).toBeDefined();
  expect(chat['TENANT_GRPC']).toBeUndefined();
});

it('takes a blank value for none', () => {
  const given = { DATABASE_POOL: '', DATABASE_URL: 'postgres://all', DATABASE_URL_CHAT: ' ' };
  expect(environmentOf('chat', ['chat'], given)).toMatchObject({
    DATABASE_POOL: '2',
    DATABASE_URL: 'postgres://all',
  });
});
