import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { expect, it } from '@jest/globals';
import { RunStopped } from '../providers/provider-failure.ts';
import { blockedUsersJob } from './blocked-users-job.ts';
import { RunStops, type OpenTurn } from './run-stops.ts';

const log = createLogger('test', 'silent');

function makeTurn(userId: string | null): OpenTurn {
  const ids = { tenantId: 't', sessionId: null, agentId: null, apiKeyId: null, runId: null };
  return { ...ids, userId, arrivedAt: 0, ending: new AbortController() };
}

it('ends no turn before the directory says that its user is blocked', async () => {
  const stops = new RunStops();
  const [ada, bob, withoutUser] = [makeTurn('ada'), makeTurn('bob'), makeTurn(null)];
  const leave = [ada, bob, withoutUser].map((turn) => stops.enter(turn));
  const asked: string[] = [];
  let answer = new AppError('service_unavailable', 'Away.');
  const findUser = (_tenantId: string, name: string): null => {
    asked.push(name);
    if (name === 'ada') throw answer;
    return null;
  };
  const settings = { getForTenant: async () => Promise.resolve({ hasUsers: true }) };
  const job = blockedUsersJob({ stops, settings, findUser, log });
  job.start(0);
  try {
    await eventually(() => expect(asked.length).toBeGreaterThan(2));
    expect(ada.ending.signal.aborted).toBe(false);
    answer = new AppError('user_blocked', 'Blocked.');
    await eventually(() => expect(ada.ending.signal.reason).toBeInstanceOf(RunStopped));
    expect([bob, withoutUser].map(({ ending }) => ending.signal.aborted)).toEqual([false, false]);
    expect(new Set(asked)).toEqual(new Set(['ada', 'bob']));
  } finally {
    await job.stop();
    for (const end of leave) end();
  }
});
