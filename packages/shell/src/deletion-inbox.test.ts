import { expect, it, jest } from '@jest/globals';
import { writeDeletedAgent, writeUserDeletion } from '@gatehouse/events/deletion-event';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import type { TakenDeletion } from './deletion-inbox-store.ts';
import { DeletionInbox } from './deletion-inbox.ts';

const log = createLogger('test', 'silent');

const deletion = (): TakenDeletion => ({
  ...{ deletionId: newId(), tenantId: newId(), userId: 'ada', requestedAtMs: 1, counts: {} },
});

function makeInbox({ due = [], error }: { due?: TakenDeletion[]; error?: Error }) {
  const store = {
    add: jest.fn((_: { deletion_id: string }) => Promise.resolve()),
    claim: () => Promise.resolve(due.splice(0)),
    untilDueMs: () => Promise.resolve(null),
    record: () => Promise.resolve(null),
    postpone: () => Promise.resolve(),
    postponeByAge: jest.fn((_: TakenDeletion) => Promise.resolve()),
  };
  const forgetAgent = jest.fn(() => Promise.resolve());
  const inbox = new DeletionInbox({
    ...{ service: 'memory', source: 'test', log, forgetAgent },
    store,
    send: () => Promise.resolve(),
    forgetUser: () => Promise.reject(error ?? new Error('not due')),
  });
  return { inbox, store, forgetAgent };
}

const received = (json: string) => ({ origin: 'test', payload: Buffer.from(json) });

const userEvent = (id = newId()) => {
  const of = { deletion_id: id, tenant_id: newId(), service: 'memory', user_id: 'ada' };
  return received(writeUserDeletion('test', { ...of, requested_at_ms: 1, counts: {} }));
};
const agentEvent = () => received(writeDeletedAgent('test', { tenant_id: newId(), agent_id: newId() }));

it.each([
  ['without a warning while a transfer uses the data', new AppError('resource_locked', 'Not now.'), 0],
  ['with a warning after another error', new Error('broken'), 1],
])('postpones a deletion that fails: %s', async (_, error, warnings) => {
  const warn = jest.spyOn(log, 'warn');
  const failing = deletion();
  const { inbox, store } = makeInbox({ due: [failing], error });
  inbox.start();
  await eventually(() => expect(store.postponeByAge.mock.calls).toEqual([[failing]]));
  await inbox.stop();
  expect(warn).toHaveBeenCalledTimes(warnings);
  warn.mockRestore();
});

it('takes deletions of users from tenant alone, and of agents from agent alone', async () => {
  const { inbox, store, forgetAgent } = makeInbox({});
  const notAllowed = { code: 'caller_not_allowed' };
  await expect(inbox.take([userEvent()], 'agent')).rejects.toMatchObject(notAllowed);
  await expect(inbox.take([agentEvent()], 'tenant')).rejects.toMatchObject(notAllowed);
  expect(store.add).not.toHaveBeenCalled();
  expect(forgetAgent).not.toHaveBeenCalled();
  await inbox.take([userEvent()], 'tenant');
  await inbox.take([agentEvent()], 'agent');
  // From Kafka.
  await inbox.take([userEvent(), agentEvent()]);
  expect(store.add).toHaveBeenCalledTimes(2);
  expect(forgetAgent).toHaveBeenCalledTimes(2);
});

it('takes the other events of a batch when one fails, and throws at the end', async () => {
  const { inbox, store } = makeInbox({});
  const bad = newId();
  store.add.mockImplementation(({ deletion_id: id }) =>
    id === bad ? Promise.reject(new Error('bad')) : Promise.resolve(),
  );
  await expect(inbox.take([userEvent(bad), userEvent(), userEvent()])).rejects.toThrow('bad');
  expect(store.add).toHaveBeenCalledTimes(3);
  store.add.mockReset().mockRejectedValue(new Error('outage'));
  await expect(inbox.take(Array.from({ length: 10 }, () => userEvent()))).rejects.toThrow('outage');
  expect(store.add).toHaveBeenCalledTimes(4);
});

it('pauses after an outage however many events arrive, and stops at once', async () => {
  const { inbox, store } = makeInbox({});
  const claim = jest.spyOn(store, 'claim').mockRejectedValue(new Error('down'));
  inbox.start();
  await eventually(() => expect(claim).toHaveBeenCalledTimes(1));
  for (let n = 0; n < 20; n += 1) await inbox.take([userEvent()], 'tenant');
  await inbox.stop();
  expect(claim).toHaveBeenCalledTimes(1);
});
