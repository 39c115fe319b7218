import { expect, it } from '@jest/globals';
import { topics } from '@gatehouse/contract/services';
import { AuditOutbox } from '@gatehouse/events/store/audit-outbox-store';
import { parseConfig } from '@gatehouse/kit/config';
import { createLogger } from '@gatehouse/kit/log';
import { testIdentity } from '@gatehouse/test/identity';
import { z } from 'zod';
import { publishOutbox } from './outbox-publisher.ts';
import { serviceSettings } from './settings.ts';
import { Shell } from './shell.ts';

it('refuses a second outbox of the same source, whose relay would wait for the locks of the first', async () => {
  const identity = await testIdentity();
  const settings = parseConfig(z.object(serviceSettings), {
    ASSERTION_PRIVATE_KEY: identity.privateKey('chat'),
    ASSERTION_PUBLIC_KEYS: identity.publicKeys,
  });
  const shell = await Shell.create('chat', settings, { log: createLogger('test', 'silent') });
  const publish = (source: string): void => {
    const config = { KAFKA_PREFIX: '', DATABASE_URL: 'postgres://127.0.0.1:1/none' };
    const outbox = new AuditOutbox('chat', source);
    publishOutbox(shell, {
      source,
      outbox,
      config,
      topic: topics.audit,
      watermarks: false,
      consumer: ['none:1'],
    });
  };
  publish('gatehouse/chat');
  publish('gatehouse/chat/audit');
  expect(() => publish('gatehouse/chat')).toThrow('two outboxes of chat have the source gatehouse/chat');
});
